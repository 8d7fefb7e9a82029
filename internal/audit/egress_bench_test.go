package audit

import (
	"fmt"
	"testing"
	"time"

	"ledgerd/receipts"
)

// manyEvents is a provider with n grants of one scope, each revoked before the next, n reports and n declarations, each of
// another version, so that nothing can be shared.
func manyEvents(grants, reports, declarations int) Evidence {
	first := at("2026-01-01T00:00:00Z")
	moment := func(i int) time.Time { return first.Add(time.Duration(i) * time.Second) }
	flow := receipts.DataFlow{Egress: true, EgressScopes: []receipts.EgressScope{receipts.ThirdPartyModel}}
	var e Evidence
	var seq int64
	for i := range declarations {
		d := declarationOf(seq, "2026-01-01T00:00:00Z", moment(i*2*grants/declarations).Format(time.RFC3339), flow)
		d.Event.Provider.Version = fmt.Sprint(i)
		e.Declarations = append(e.Declarations, d)
		seq++
	}
	for i := range grants {
		granted, revoked := moment(2*i).Format(time.RFC3339), moment(2*i+1).Format(time.RFC3339)
		e.Consents.Grants = append(e.Consents.Grants, grantOf(seq, granted, granted))
		e.Consents.Revocations = append(e.Consents.Revocations, revocationOf(seq+1, revoked, revoked))
		seq += 2
	}
	for i := range reports {
		t := moment(i*2*grants/reports + 1) // of as many reports as grants, each is just after a revocation
		e.Usage = append(e.Usage, UsageLine{Seq: seq, ProviderID: "p", RecordedAt: t, AsOf: t, FramesServed: 1})
		seq++
	}
	return e
}

// A question about a provider with 10,000 grants and as many revocations costs what it reads, not their product with the
// reports.
func BenchmarkEgressOfManyGrants(b *testing.B) {
	for _, reports := range []int{10_000, 50_000} {
		e := manyEvents(10_000, reports, 1)
		b.Run(fmt.Sprintf("grants=10000/reports=%d", reports), func(b *testing.B) {
			for b.Loop() {
				if a, err := EgressWithin(b.Context(), e, EgressQuery{}); err != nil || a.Totals.Reports != reports {
					b.Fatal(a.Totals, err)
				}
			}
		})
	}
	e := manyEvents(10_000, 10_000, 2_000)
	b.Run("grants=10000/reports=10000/declarations=2000/findings", func(b *testing.B) {
		for b.Loop() {
			if found, err := Findings(b.Context(), FindingEvidence{Evidence: e}, FindingQuery{Kind: FindingUnconsented}); err != nil || len(found) == 0 {
				b.Fatal(len(found), err)
			}
		}
	})
}
