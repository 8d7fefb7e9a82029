package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering/billing"
)

var disputant = kinds.Poster{Tenant: ledgertest.Tenant, Role: kinds.Auditor, TokenID: "tok_auditor"}

// charged is an account whose usage is consented to, billed and confirmed.
type charged struct {
	*account
	disputes *postgres.Disputes
	reports  []int64
	from, to time.Time
}

const wikiDeclaration = `{"provider_id":"wiki","provider":{"name":"Wiki","version":"1","data_flow":{"reads":true,"writes":false,"egress":true,"egress_scopes":["third-party-model"]}},"declared_at":"2020-01-01T00:00:00Z"}`

// newCharged records n reports of customer a, an instant ago, and bills them.
func newCharged(t *testing.T, n int) *charged {
	t.Helper()
	a := newAccount(t)
	declared, err := kinds.ProviderDeclaration.Accept(kinds.Submission{Artifact: []byte(wikiDeclaration), Key: "d"}, kinds.Env{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	a.append(ledgertest.Host, declared)
	a.append(ledgertest.Host, ledgertest.Consent(t, "k", "wiki"))
	c := &charged{account: a, from: time.Now().UTC().Add(-time.Minute).Truncate(time.Minute)}
	c.to = c.from.Add(2 * time.Hour)
	for i := range n {
		c.reports = append(c.reports, c.append(ledgertest.Host, ledgertest.Usage(t, fmt.Sprint("r", i), "a", time.Now(), uint32(10+i))))
	}
	c.bill()
	c.disputes = &postgres.Disputes{Store: a.Store, Append: a.Appender.Append, Verifiers: a.Keys.Verifiers()}
	return c
}

// bill plans what is due hours from now, and confirms it.
func (c *charged) bill() {
	c.t.Helper()
	if n, clash := c.plan(c.books, time.Now().Add(3*time.Hour)); n == 0 || clash {
		c.t.Fatalf("%d intents, clash %v", n, clash)
	}
	c.confirm(c.pending("a"))
}

func (c *charged) question() kinds.DisputeQuestion {
	return kinds.DisputeQuestion{CustomerID: "a", From: &c.from, To: &c.to}
}

// raise raises a dispute and reads it back.
func (c *charged) raise(q kinds.DisputeQuestion) kinds.DisputeArtifact {
	c.t.Helper()
	id := fmt.Sprint("dsp_", time.Now().UnixNano())
	raised, err := c.disputes.Raise(c.t.Context(), disputant, kinds.DisputeRequest{ID: id, Question: q, Reason: "too much"})
	if err != nil || raised.Recorded == nil {
		c.t.Fatalf("%+v, %v", raised, err)
	}
	_, a, err := c.Store.Dispute(c.t.Context(), ledgertest.Tenant, id)
	if err != nil {
		c.t.Fatal(err)
	}
	if fault, why := c.again(a); fault != "" {
		c.t.Errorf("%+v decided again: %s", q, fault)
	} else if a.Result == kinds.DisputeExplained && why != "" {
		c.t.Errorf("%+v can't be decided again: %s", q, why)
	}
	return a
}

// again decides a dispute from the contents of the entries that it names, as whoever has its evidence does.
func (c *charged) again(a kinds.DisputeArtifact) (fault, why string) {
	c.t.Helper()
	conn := connect(c.t, c.AdminURL)
	return audit.Redecide(a, func(seq int64) (audit.Derived, bool) {
		var e audit.StoredEntry
		err := conn.QueryRow(c.t.Context(), `
			SELECT e.seq, e.recorded_at, e.tenant::bytea, e.kind::bytea, e.key::bytea, e.token_id::bytea, e.meta, e.meta_salt, e.envelope, e.leaf_hash, x.content, x.content_salt
			FROM ledger.entries e JOIN ledger.contents x USING (seq) WHERE e.seq = $1`, seq).Scan(&e.Seq, &e.RecordedAt, &e.Tenant, &e.Kind, &e.Key, &e.TokenID, &e.Meta, &e.MetaSalt,
			&e.Envelope, &e.LeafHash, &e.Content, &e.ContentSalt)
		if err != nil {
			c.t.Fatal(err)
		}
		d, faults := audit.EntryCheck{Origin: c.Keys.Signer.Name()}.Check(e)
		return d, len(faults) == 0
	})
}

func found(a kinds.DisputeArtifact) (rules []string) {
	for _, f := range slices.Concat(a.Failures, a.Open) {
		rules = append(rules, f.Rule)
	}
	return rules
}

func TestDisputeOfAWholeChain(t *testing.T) {
	t.Parallel()
	c := newCharged(t, 5)
	all := c.raise(c.question())
	if all.Result != kinds.DisputeExplained || len(all.Differences) != 0 {
		t.Fatalf("%+v", all)
	}
	if e := all.Entries; !slices.Equal(e.Reports, c.reports) || len(e.Intents) == 0 || len(e.Outcomes) != len(e.Intents) || len(e.Consents) != 2 {
		t.Errorf("%+v", e)
	}
	for _, l := range all.Levels {
		if l.Tokens != "60" {
			t.Errorf("%+v", l)
		}
	}
	c.forged(all)
	var identifier string
	if err := connect(t, c.AdminURL).QueryRow(t.Context(), `SELECT identifier FROM ledger.billing_intents ORDER BY seq LIMIT 1`).Scan(&identifier); err != nil {
		t.Fatal(err)
	}
	if a := c.raise(kinds.DisputeQuestion{BillingEvent: identifier}); a.Result != kinds.DisputeExplained || len(a.Entries.Intents) != 1 || len(a.Entries.Reports) == 0 {
		t.Errorf("of an event: %+v", a)
	}
	if a := c.raise(kinds.DisputeQuestion{RequestID: "r1"}); a.Result != kinds.DisputeExplained || !slices.Equal(a.Entries.Reports, c.reports[1:2]) || a.Levels[3].Tokens != "11" || a.Levels[0].Tokens != "11" {
		t.Errorf("of a request: %+v", a)
	}
	for _, q := range []kinds.DisputeQuestion{{BillingEvent: "led1_none"}, {RequestID: "none"}, {ReceiptID: "none"}} {
		if a := c.raise(q); a.Result != kinds.DisputeInconclusive || !slices.Equal(found(a), []string{string(audit.OpenNothing)}) {
			t.Errorf("%+v: %+v", q, a)
		}
	}
	if _, faults := fsck(t, c.Ledger); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// forged records decisions that do not follow from the entries that they name: whoever decides again finds each.
func (c *charged) forged(a kinds.DisputeArtifact) {
	c.t.Helper()
	for name, change := range map[string]func(*kinds.DisputeArtifact){
		"a total":       func(a *kinds.DisputeArtifact) { a.Levels[0].Tokens = "61" },
		"a level":       func(a *kinds.DisputeArtifact) { a.Levels[3].Entries++ },
		"a report less": func(a *kinds.DisputeArtifact) { a.Entries.Reports = a.Entries.Reports[1:] },
		"no consent":    func(a *kinds.DisputeArtifact) { a.Entries.Consents = a.Entries.Consents[:1] },
		"no outcome":    func(a *kinds.DisputeArtifact) { a.Entries.Outcomes = nil },
		"something open": func(a *kinds.DisputeArtifact) {
			a.Open, a.Result = []kinds.DisputeFinding{{Rule: string(audit.OpenUnbilled), Times: 1}}, kinds.DisputeInconclusive
		},
		"a failure": func(a *kinds.DisputeArtifact) {
			a.Failures, a.Result = []kinds.DisputeFinding{{Rule: string(audit.FailAmount), Times: 1}}, kinds.DisputeUpheld
		},
		"a difference": func(a *kinds.DisputeArtifact) {
			a.Differences = []kinds.DisputeDifference{{Level: "claims", Before: "intents", Tokens: "1"}}
		},
		"another customer's": func(a *kinds.DisputeArtifact) { a.Question.CustomerID = "b" },
	} {
		forged := a
		forged.Levels = slices.Clone(a.Levels)
		change(&forged)
		if fault, why := c.again(forged); fault == "" {
			c.t.Errorf("%s is not found: %s", name, why)
		}
	}
	older := a
	older.Rules = "dispute.rules.v0"
	if fault, why := c.again(older); fault != "" || !strings.Contains(why, audit.DisputeRulesVersion) || strings.Contains(why, older.Rules) {
		c.t.Errorf("other rules: %s, %s", fault, why)
	}
	if changed := audit.DisputeChanges(older, a); !slices.Equal(changed, []string{"rules"}) {
		c.t.Errorf("other rules change %q", changed)
	}
	forged := a
	forged.Entries.Configs = []int64{1} // a declaration
	if fault, why := c.again(forged); fault != "" || why == "" {
		c.t.Errorf("what is no configuration: %s, %s", fault, why)
	}
}

// What is done to the chain is found and named, by the part of it that it was done to.
func TestDisputeFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	first := func(sql string) func(*charged) {
		return func(c *charged) { tamper(c.t, c, sql+` WHERE seq = $1`, c.reports[0]) }
	}
	after := func(sql string) func(*charged) {
		return func(c *charged) { tamper(c.t, c, sql+` WHERE seq > $1`, int64(0)) }
	}
	for name, x := range map[string]struct {
		do   func(*charged)
		want audit.DisputeRule
	}{
		"more is claimed": {func(c *charged) {
			tamper(c.t, c, `UPDATE ledger.billing_claims SET tokens = tokens + 1 WHERE usage_seq = $1`, c.reports[0])
		}, audit.FailAmount},
		"a report was raised":   {first(`UPDATE ledger.usage_lines SET tokens = tokens + 1`), audit.FailAltered},
		"a report is gone":      {first(`DELETE FROM ledger.usage_lines`), audit.FailUnfounded},
		"a content was changed": {first(`UPDATE ledger.contents SET content = content || '\x20'`), audit.FailAltered},
		"a leaf was changed":    {first(`UPDATE ledger.entries SET leaf_hash = sha256('x')`), audit.FailInclusion},
		"an entry is gone":      {first(`DELETE FROM ledger.entries`), audit.FailUnfounded},
		"an intent was changed": {after(`UPDATE ledger.contents SET content = replace(convert_from(content, 'UTF8'), '"value":3', '"value":4')::bytea`), audit.FailArithmetic},
		"no outcome":            {after(`DELETE FROM ledger.billing_outcomes`), audit.OpenUnconfirmed},
		"another customer's":    {first(`UPDATE ledger.usage_lines SET customer_id = 'b'`), audit.FailCustomer},
		"another window":        {first(`UPDATE ledger.usage_lines SET as_of = as_of + interval '1 hour'`), audit.FailWindow},
		"consent is gone":       {after(`DELETE FROM ledger.consents`), audit.FailUnconsented},
		"erased":                {func(c *charged) { c.append(admin, erasure(c.t, c.reports[0])) }, audit.OpenErased},
		"not billed yet": {func(c *charged) {
			c.append(ledgertest.Host, ledgertest.Usage(c.t, "late", "a", time.Now(), 3))
		}, audit.OpenUnbilled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCharged(t, 3)
			x.do(c)
			a := c.raise(c.question())
			if !slices.Contains(found(a), string(x.want)) {
				t.Errorf("%s: %v, want %s: %+v", a.Result, found(a), x.want, a.Levels)
			}
		})
	}
}

// tamper changes something as only a superuser can.
func tamper(t *testing.T, c *charged, sql string, arg any) {
	t.Helper()
	conn := connect(t, c.AdminURL)
	if _, err := conn.Exec(t.Context(), `
		DO $$ DECLARE r record; BEGIN FOR r IN SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind = 'r' LOOP
		EXECUTE format('ALTER TABLE ledger.%I DISABLE TRIGGER USER', r.relname); END LOOP; END $$`); err != nil {
		t.Fatal(err)
	}
	if tag, err := conn.Exec(t.Context(), sql, arg); err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%s: %v, %v", sql, tag, err)
	}
}

// A correction is billed as the next delta, and the chain adds up with it.
func TestDisputeWithACorrection(t *testing.T) {
	t.Parallel()
	c := newCharged(t, 3)
	correction, err := c.correct(fmt.Sprintf(`{"seq":%d,"reason":"counted twice"}`, c.reports[2]))
	if err != nil {
		t.Fatal(err)
	}
	if a := c.raise(c.question()); a.Result != kinds.DisputeInconclusive || !slices.Equal(found(a), []string{string(audit.OpenUnbilled)}) {
		t.Errorf("before it is billed: %+v", a)
	}
	c.bill()
	a := c.raise(c.question())
	if a.Result != kinds.DisputeExplained || !slices.Contains(a.Entries.Reports, correction) {
		t.Errorf("%+v", a)
	}
	for _, l := range a.Levels {
		if l.Tokens != "21" {
			t.Errorf("%+v", l)
		}
	}
	if a := c.raise(kinds.DisputeQuestion{RequestID: "r2"}); !slices.Contains(a.Entries.Reports, correction) || a.Levels[3].Tokens != "0" {
		t.Errorf("of the request: %+v", a)
	}
}

// An event and its replacement: what counts in the end is followed, and both counting is named.
func TestDisputeFollowsReplacements(t *testing.T) {
	t.Parallel()
	c := newCharged(t, 1)
	c.append(ledgertest.Host, ledgertest.Usage(t, "more", "a", time.Now(), 7))
	if n, _ := c.plan(c.books, time.Now().Add(3*time.Hour)); n != 1 {
		t.Fatal(n)
	}
	parked := c.pending("a")[0]
	c.record(billing.Closing{Outcome: parked.Outcome(billing.Parked, billing.ByRefusal, billing.Reply{Status: 400})})
	if a := c.raise(c.question()); a.Result != kinds.DisputeInconclusive || !slices.Equal(found(a), []string{string(audit.OpenUnconfirmed)}) || a.Differences[0].Tokens != "7" {
		t.Errorf("parked: %+v", a)
	}
	c.replaceParked(parked, time.Now())
	c.confirm(c.pending("a"))
	a := c.raise(c.question())
	if a.Result != kinds.DisputeExplained || len(a.Entries.Intents) != 3 {
		t.Errorf("replaced: %+v", a)
	}
	tamper(t, c, `UPDATE ledger.billing_outcomes SET state = 'confirmed' WHERE state = 'replaced' AND seq > $1`, int64(0))
	if a := c.raise(c.question()); a.Result != kinds.DisputeUpheld || !slices.Contains(found(a), string(audit.FailTwice)) {
		t.Errorf("both count: %+v", a)
	}
}

func TestDisputeIsRaisedOnce(t *testing.T) {
	t.Parallel()
	c := newCharged(t, 2)
	r := kinds.DisputeRequest{ID: "dsp_x", Question: c.question(), Reason: "too much"}
	first, err := c.disputes.Raise(t.Context(), disputant, r)
	if err != nil || first.Replayed {
		t.Fatalf("%+v, %v", first, err)
	}
	c.append(ledgertest.Host, ledgertest.Consent(t, "k2", "other")) // another tree
	again, err := c.disputes.Raise(t.Context(), disputant, r)
	if err != nil || !again.Replayed || again.Recorded.Seq != first.Recorded.Seq {
		t.Errorf("again: %+v, %v", again, err)
	}
	other := r
	other.Reason = "another reason"
	var conflict *kinds.ConflictError
	if _, err := c.disputes.Raise(t.Context(), disputant, other); !errors.As(err, &conflict) || conflict.Seq != first.Recorded.Seq {
		t.Errorf("another: %v", err)
	}
	targets, err := c.Store.FindErasureTargets(t.Context(), ledgertest.Tenant, kinds.ErasureFilter{CustomerID: "a"})
	if err != nil || !slices.ContainsFunc(targets, func(x kinds.ErasureTarget) bool { return x.Seq == first.Recorded.Seq }) {
		t.Errorf("an erasure of the customer does not find it: %v, %v", targets, err)
	}
	c.append(admin, erasure(t, first.Recorded.Seq))
	var erased *kinds.ErasedError
	if _, err := c.disputes.Raise(t.Context(), disputant, r); !errors.As(err, &erased) {
		t.Errorf("erased: %v", err)
	}
}

// A dispute is decided again from what there is now, and what changed is named.
func TestDisputeIsReverified(t *testing.T) {
	t.Parallel()
	c := newCharged(t, 3)
	r := kinds.DisputeRequest{ID: "dsp_x", Question: c.question(), Reason: "too much"}
	raised, err := c.disputes.Raise(t.Context(), disputant, r)
	if err != nil {
		t.Fatal(err)
	}
	again := func() kinds.ReverificationArtifact {
		t.Helper()
		recorded, err := c.disputes.Reverify(t.Context(), disputant, "dsp_x", fmt.Sprint("rev_", time.Now().UnixNano()))
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Store.Reverifications(t.Context(), ledgertest.Tenant, raised.Recorded.Seq, 10)
		if err != nil || list[len(list)-1].Seq != recorded.Seq {
			t.Fatalf("%v, %v", list, err)
		}
		found, err := kinds.ReadReverification(list[len(list)-1])
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	same := again()
	if same.Result != kinds.DisputeExplained || len(same.Changed) != 0 || same.After != nil || same.OfSeq != raised.Recorded.Seq {
		t.Errorf("nothing changed: %+v", same)
	}
	c.append(admin, erasure(t, c.reports[0]))
	now := again()
	if now.Result != kinds.DisputeInconclusive || !slices.Equal(now.Changed, []string{"result", "rule:erased"}) || now.After == nil || len(now.Failed) != 1 {
		t.Errorf("after an erasure: %+v", now)
	}
	if _, err := c.disputes.Reverify(t.Context(), disputant, "dsp_none", "k"); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, faults := fsck(t, c.Ledger); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// What rows can't hold of an instant, less than a microsecond, decides nothing: the ledger and whoever has no more than its
// evidence decide alike.
func TestDisputeFinerThanRows(t *testing.T) {
	t.Parallel()
	c := newCharged(t, 1)
	var agreed time.Time
	if err := connect(t, c.AdminURL).QueryRow(t.Context(), `SELECT recorded_at FROM ledger.entries WHERE kind = 'consent-receipt'`).Scan(&agreed); err != nil {
		t.Fatal(err)
	}
	at := agreed.UTC().Truncate(time.Second).Add(900) // in rows it is the whole second, within which the consent was recorded
	artifact := fmt.Appendf(nil, `{"budget_requested":1,"budget_consumed":1,"as_of":%q,"providers":[{"provider_id":"wiki","frames_served":1,"frames_rejected":0,"token_cost":1,`+
		`"served_frames":[{"frame":{"provider_id":"wiki","frame_id":"page/a"},"token_cost":1}]}]}`, at.Format(time.RFC3339Nano))
	report, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: artifact, Context: []byte(`{"request_id":"fine","turn_id":"turn","customer_id":"b"}`)}, kinds.Env{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	seq := c.append(ledgertest.Host, report)
	if a := c.raise(kinds.DisputeQuestion{RequestID: "fine"}); len(a.Failures) != 0 || !slices.Equal(a.Entries.Reports, []int64{seq}) {
		t.Errorf("%+v", a)
	}
}
