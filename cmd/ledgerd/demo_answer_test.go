package main

import (
	"strings"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/receipts"
)

// What the demo's own session does not have: erasure, several grants of one scope, long names, malformed times.
func TestPrintAnswer(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 18, 26, 5, 177_000_000, time.UTC)
	until := "next year"
	long := receipts.Grantor{Kind: receipts.Human, ID: "somebody-with-a-very-long-name@acme.example"}
	var b strings.Builder
	printAnswer(&b, client.EgressAnswer{
		Lines: []client.EgressLine{
			{
				ProviderID: "north", Reports: 3, LastAsOf: at, FramesServed: "4", Tokens: "1200", Seqs: []int64{4, 5, 6}, Flags: []string{client.FlagErased},
				Scopes: []client.EgressScope{{
					Scope: receipts.OrgTenant, Verdict: client.GrantedAfter, Verdicts: map[client.Verdict]int{client.GrantedAfter: 1, client.Consented: 2},
					Grants: []client.EgressGrant{
						{GrantedAt: "2026-01-10T08:00:00Z", RecordedAt: at, Seq: 1},
						{Grantor: &long, GrantedAt: "2026-12-10T08:00:00Z", ExpiresAt: &until, RecordedAt: at, Seq: 7},
					},
				}},
			},
			{ProviderID: "nobody-asked", Reports: 1, LastAsOf: at, FramesServed: "1", Tokens: "9", Seqs: []int64{5}, Flags: []string{client.FlagUndeclared, client.FlagNoConsent},
				Scopes: []client.EgressScope{{Basis: "none", Verdict: client.Undeclared, Verdicts: map[client.Verdict]int{client.Undeclared: 1}}}},
		},
		Totals: client.EgressTotals{Reports: 4, FramesServed: "5", Tokens: "1209"}, Notes: []string{"a note"},
	})
	const want = `
    SCOPE       VERDICT            WHO AGREED                      GRANTED     UNTIL      RECORDED (UTC)       ENTRY
  north            3 reports       4 frames       1200 tokens  to 18:26:05.177  entries 4-6
    org-tenant  granted-after 1/3  (erased)                        2026-01-10  no end     2026-11-30 18:26:05  1
                                   human somebody-with-a-very-lo…  2026-12-10  next year  2026-11-30 18:26:05  7
    flags: erased
  nobody-asked     1 reports       1 frames          9 tokens  to 18:26:05.177  entry 5
    -           undeclared 1/1     nobody                          -           -          -                    -
    flags: undeclared-provider, no-recorded-consent
  in all                           5 frames       1209 tokens

Look at
  - north, org-tenant: consent was given only after content had left (1 of 3 reports)
  - north: parts of what was served were erased
  - nobody-asked, no scope: what becomes of content was not declared (1 of 1 reports)
  - nobody-asked: nobody is on record as having agreed to anything

What this answer does not show
  - a note
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPrintAnswerOfNothing(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	printAnswer(&b, client.EgressAnswer{Totals: client.EgressTotals{FramesServed: "0", Tokens: "0"}})
	if !strings.Contains(b.String(), "in all") || strings.Contains(b.String(), "Look at") {
		t.Error(b.String())
	}
}
