package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/client"
	"ledgerd/frames"
	"ledgerd/metering"
	"ledgerd/receipts"
)

const (
	demoTurns    = 20
	demoCustomer = "demo"
	demoBudget   = 4000 // tokens per request
)

// The providers of the session. The rest of the plan is in demoProviders.
const (
	northLLM    = "north-llm"    // a model behind a gateway; two scopes, two grantors
	atlasSearch = "atlas-search" // consent with an end
	wikiMCP     = "wiki-mcp"     // once, all that it offered was rejected
	weatherMCP  = "weather-mcp"  // reached, and never served anything
	betaIndex   = "beta-index"   // its consent lapsed long ago
	partnerCRM  = "partner-crm"  // somebody "remembered" the consent when it was too late
	webScraper  = "web-scraper"  // it declared nothing, and nobody ever agreed
)

// demoProviders says on which turns the host asks whom: on turn first and then every so many turns.
var demoProviders = []struct {
	id     string
	first  int
	every  int
	frames int // how many frames it serves
}{
	{northLLM, 1, 1, 2}, {atlasSearch, 2, 2, 3}, {wikiMCP, 3, 4, 2}, {weatherMCP, 5, 6, 0}, {betaIndex, 4, 10, 1}, {partnerCRM, 11, 9, 2}, {webScraper, 9, 8, 1},
}

// rejectedTurn is when all frames of wikiMCP are dropped: its row says so, and serves nothing.
const rejectedTurn = 7

func byHuman(id string) receipts.Grantor  { return receipts.Grantor{Kind: receipts.Human, ID: id} }
func byPolicy(id string) receipts.Grantor { return receipts.Grantor{Kind: receipts.Policy, ID: id} }

func demoConsent(provider, name, version string, scope receipts.EgressScope, by receipts.Grantor, granted, expires string) receipts.ConsentReceipt {
	r := receipts.ConsentReceipt{ProviderID: provider, ProviderName: name, ProviderVersion: version, Scope: scope, Grantor: by, GrantedAt: granted}
	if expires != "" {
		r.ExpiresAt = &expires
	}
	return r
}

// demoConsents are recorded before the session.
func demoConsents() []receipts.ConsentReceipt {
	return []receipts.ConsentReceipt{
		demoConsent(northLLM, "North LLM gateway", "4.2.0", receipts.ThirdPartyModel, byHuman("maria@acme.example"), "2025-01-12T09:30:00Z", ""),
		demoConsent(northLLM, "North LLM gateway", "4.2.0", receipts.OrgTenant, byPolicy("eu-tenants-v3"), "2025-01-12T09:31:00Z", ""),
		demoConsent(atlasSearch, "Atlas Search", "2.1", receipts.ThirdPartyIndex, byHuman("jonas@acme.example"), "2025-02-03T14:05:00Z", "2036-01-01T00:00:00Z"),
		demoConsent(wikiMCP, "Wiki", "1.8", receipts.OrgTenant, byPolicy("workspace-default"), "2025-02-10T00:00:00Z", ""),
		demoConsent(weatherMCP, "Weather", "0.9", "acme:public-mcp", byPolicy("mcp-default"), "2025-03-01T00:00:00Z", ""),
		demoConsent(betaIndex, "Beta Index", "0.1", receipts.ThirdPartyIndex, byHuman("maria@acme.example"), "2025-03-01T08:00:00Z", "2025-06-01T00:00:00Z"),
	}
}

// lateConsent is dated long before the session and recorded after it. In the first run it is too late for its own session.
func lateConsent() receipts.ConsentReceipt {
	return demoConsent(partnerCRM, "Partner CRM", "7", receipts.ThirdPartyIndex, byHuman("sam@acme.example"), "2025-05-05T10:00:00Z", "")
}

func (d *demo) grantConsents(ctx context.Context) error {
	var done tally
	for _, c := range demoConsents() {
		if err := d.grant(ctx, c, &done); err != nil {
			return err
		}
	}
	d.did("consents", "%d, by people and policies: %s", len(done.seqs), &done)
	return nil
}

// demoDeclarations are how the providers introduced themselves: each names the scopes that the consents are about.
func demoDeclarations() []receipts.Declaration {
	var list []receipts.Declaration
	index := map[string]int{}
	for _, c := range append(demoConsents(), lateConsent()) {
		i, known := index[c.ProviderID]
		if !known {
			i = len(list)
			index[c.ProviderID] = i
			list = append(list, receipts.Declaration{
				ProviderID: c.ProviderID, DeclaredAt: "2025-01-02T08:00:00Z",
				Provider: receipts.ProviderInfo{Name: c.ProviderName, Version: c.ProviderVersion, DataFlow: receipts.DataFlow{Reads: true, Egress: true}},
			})
		}
		list[i].Provider.DataFlow.EgressScopes = append(list[i].Provider.DataFlow.EgressScopes, c.Scope)
	}
	return list
}

func (d *demo) declareProviders(ctx context.Context) error {
	var done tally
	for _, c := range demoDeclarations() {
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		r, err := d.host.PostProviderDeclaration(ctx, c, "ledgerd-demo/"+demoDigest(string(text)))
		if err != nil {
			return err
		}
		done.add(r)
	}
	d.did("declarations", "%d, of all providers but %s: %s", len(done.seqs), webScraper, &done)
	return nil
}

// grant records a consent under a key that is made from it: every run posts the same, and all find one entry.
func (d *demo) grant(ctx context.Context, c receipts.ConsentReceipt, done *tally) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	r, err := d.host.PostConsentReceipt(ctx, c, "ledgerd-demo/"+demoDigest(string(text)))
	if err == nil {
		done.add(r)
	}
	return err
}

func (d *demo) grantLate(ctx context.Context) error {
	var done tally
	c := lateConsent()
	if err := d.grant(ctx, c, &done); err != nil {
		return err
	}
	if done.replayed > 0 {
		d.did("late consent", "%s: %s; too late for that run, in time for this one", c.ProviderID, &done)
		return nil
	}
	d.did("late consent", "%s: dated %s, but recorded only now, after the session: %s", c.ProviderID, dateOf(c.GrantedAt), &done)
	return nil
}

// postSession posts each turn's report as it is made: as_of is the instant of posting, so that what is consented and what
// is not follows from what had been recorded by then, and is not staged.
func (d *demo) postSession(ctx context.Context) error {
	var done tally
	d.from = time.Now().Truncate(time.Millisecond)
	for turn := 1; turn <= demoTurns; turn++ {
		r, err := d.host.PostUsageReport(ctx, d.turn(turn, time.Now()))
		if err != nil {
			return err
		}
		done.add(r)
	}
	d.to = time.Now().Truncate(time.Millisecond).Add(time.Millisecond)
	d.did("usage reports", "%d turns over %d providers: %s", demoTurns, len(demoProviders), &done)
	return nil
}

// turn is the report of one turn, the same in every run but for its ids and time.
func (d *demo) turn(n int, at time.Time) client.UsageReport {
	r := metering.UsageReport{BudgetRequested: demoBudget, AsOf: at.UTC().Format("2006-01-02T15:04:05.000000Z")}
	for _, p := range demoProviders {
		if n < p.first || (n-p.first)%p.every != 0 {
			continue
		}
		row := metering.ProviderUsage{ProviderID: p.id}
		if p.id == wikiMCP && n == rejectedTurn {
			row.FramesRejected = uint32(p.frames)
		} else {
			row.ServedFrames = demoFrames(p.id, n, p.frames)
		}
		row.FramesServed = uint32(len(row.ServedFrames))
		for _, f := range row.ServedFrames {
			row.TokenCost += uint64(f.TokenCost)
		}
		r.BudgetConsumed += row.TokenCost
		r.Providers = append(r.Providers, row)
	}
	return client.UsageReport{
		RequestID: fmt.Sprintf("%s/request-%02d", d.session, n), TurnID: fmt.Sprintf("%s/turn-%02d", d.session, n), CustomerID: demoCustomer, Report: r,
	}
}

// demoFrames takes frames from a provider's small pool, so that some leave more than once.
func demoFrames(provider string, turn, count int) []metering.ServedFrame {
	const pool = 5
	var served []metering.ServedFrame
	for i := range count {
		n := (turn + i) % pool
		id := fmt.Sprintf("page/%d", n)
		served = append(served, metering.ServedFrame{
			Frame:     frames.FrameID{ProviderID: provider, FrameID: id, ContentDigest: frames.SomeDigest(demoDigest(provider + " " + id))},
			TokenCost: uint32(60 + 45*n + 3*len(provider)), // the same frame always costs the same
		})
	}
	return served
}

// postWrongSum shows the door: a report that does not add up is refused and leaves nothing behind.
func (d *demo) postWrongSum(ctx context.Context) error {
	u := d.turn(demoTurns, time.Now())
	u.RequestID = d.session + "/wrong-sum"
	u.Report.BudgetConsumed++
	_, err := d.host.PostUsageReport(ctx, u)
	var p *client.Problem
	if err == nil || !errors.As(err, &p) || p.Code != "usage-inconsistent" {
		return errors.Join(errors.New("a report that does not add up was not refused as such"), err)
	}
	d.did("refused", "a report that claims one token more than its frames cost: %s at %s", p.Code, strings.TrimPrefix(p.Pointer, "/report"))
	return nil
}
