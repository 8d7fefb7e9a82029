package receipts_test

import (
	"fmt"

	"ledgerd/frames"
	"ledgerd/receipts"
)

// Six months later an auditor asks what was agreed to, and whether a query after the expiry could have gone out
// (context-reuse §3, the worked audit scenario).
func Example() {
	receipt, err := receipts.ParseConsentReceipt([]byte(`{"provider_id":"acme-cloud-model","scope":"third-party-model",
		"provider_name":"Acme cloud model","provider_version":"2.0","grantor":{"kind":"human","id":"ops@acme.example"},
		"granted_at":"2026-01-14T09:02:00Z","expires_at":"2026-07-14T00:00:00Z"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var store receipts.ConsentStore
	store.RecordReceipt(receipt)
	for _, r := range store.ReceiptsFor("acme-cloud-model") {
		fmt.Println(r.Scope, "granted by", r.Grantor.Kind, r.Grantor.ID, "at", r.GrantedAt, "until", *r.ExpiresAt)
	}
	provider := receipts.ProviderInfo{Name: "Acme cloud model", Version: "2.0", DataFlow: receipts.DataFlow{
		Egress: true, EgressScopes: []receipts.EgressScope{receipts.ThirdPartyModel},
	}}
	later, _ := frames.ParseInstant("2026-08-01T00:00:00Z")
	fmt.Println("by presence:", store.Evaluate("acme-cloud-model", provider).Outcome())
	fmt.Println("by time:", store.EvaluateAt("acme-cloud-model", provider, later).Err())
	for _, f := range store.FindingsAt("acme-cloud-model", provider, later) {
		fmt.Println(f.Code, f.Pointer, f.Document)
	}
	// Output:
	// third-party-model granted by human ops@acme.example at 2026-01-14T09:02:00Z until 2026-07-14T00:00:00Z
	// by presence: permitted
	// by time: provider "acme-cloud-model" declares egress scope(s) ["third-party-model"] with no recorded consent receipt; the query was not transmitted
	// expired-receipt /data_flow/egress_scopes/0 context-reuse C6
}

// A declaration that names a destination off the machine beside egress false is refused.
func ExampleDataFlow_Check() {
	flow := receipts.DataFlow{Reads: true, EgressScopes: []receipts.EgressScope{receipts.LocalOnly, receipts.ThirdPartyIndex}}
	fmt.Println(flow.Check())
	// Output:
	// checking /egress_scopes/1: an off-machine scope contradicts egress false
}
