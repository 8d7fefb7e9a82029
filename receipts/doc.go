// Package receipts is consent as an artifact: what may leave the machine, to whom, who agreed and when (context-reuse
// §3). It is pure: no I/O, no clock, no randomness, no globals; the moment in question is a parameter.
//
// # The receipt
//
//	{"provider_id":"north-llm","scope":"third-party-model","provider_name":"North LLM gateway","provider_version":"4.2.0",
//	 "grantor":{"kind":"human","id":"maria@north.example"},
//	 "granted_at":"2031-01-10T08:00:00Z","expires_at":"2031-07-10T08:00:00Z"}
//
// All members are required strings but grantor, an object of kind (human or policy) and id, and expires_at, which may
// be absent or null. A scope is one of local-only, org-tenant, third-party-index and third-party-model, or namespaced:
// "northco:eu-vault". Everything but local-only leaves the machine. Times are kept as written; outside the profile SPEC
// F4 they are a finding.
//
// # The gate
//
// A provider declares a DataFlow. Before it is asked, ConsentStore's gate (context-reuse C6) wants a receipt for each
// off-machine scope; a provider that declares only egress wants a ConsentRecord. Evaluate asks for presence, as the
// reference does; EvaluateAt asks for a receipt in force at a moment. In the example above a query on 2031-08-01 is
// permitted by presence (with the finding expired-receipt) and refused by time: it needs a receipt for
// third-party-model.
//
// A declaration must be truthful (context-reuse C5): an off-machine scope beside egress false, or a malformed scope, is
// refused.
//
// # Our own events
//
// The protocol has no revocation of a receipt and no event for a declaration. These two are ours, and closed:
//
//	{"provider_id":"north-llm","scope":"third-party-model","revoked_by":{"kind":"human","id":"maria@north.example"},
//	 "revoked_at":"2031-03-01T00:00:00Z","reason":"contract ended"}
//	{"provider_id":"north-llm","provider":{"name":"North LLM gateway","version":"4.2.0","data_flow":{"reads":true,
//	 "writes":false,"egress":true,"egress_scopes":["third-party-model"]}},"declared_at":"2031-01-10T07:00:00Z"}
//
// A revocation adds to the record and erases nothing: it ends the grants of that provider and scope that began before it.
// With scope null it ends the boolean consents (ConsentRecord) of the provider.
package receipts
