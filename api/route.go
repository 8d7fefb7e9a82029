package api

import (
	"slices"

	"ledgerd/internal/kinds"
)

// Route is one row of the API: what it is called, who may call it, what it takes and gives, and what answers it.
type Route struct {
	Method   string
	Path     string // chi's pattern, which is also OpenAPI's
	Name     string // operationId
	Summary  string
	Doc      string
	Public   bool         // answers without a token
	Roles    []kinds.Role // who else may call it
	Query    []Param
	Segments []Param // path parameters
	Header   []Param
	Body     any    // a value of the request body's type, nil for none
	BodyType string // its media type; application/json when empty
	Replies  []Reply
	Problems []string // codes beside those that every route may answer
	Streams  bool     // it takes as long as it makes progress, instead of requestTimeout at most
	Memory   int64    // MiB that one answer may hold, where that is much: see memoryRoom
	handle   handler
}

// Reply is one successful answer of a route.
type Reply struct {
	Status int
	Doc    string
	Body   any    // a value of the answer's type, nil for none
	Type   string // its media type; application/json when empty
}

func (r *Route) allows(role kinds.Role) bool { return slices.Contains(r.Roles, role) }

var (
	auditors = []kinds.Role{kinds.Auditor}
	admins   = []kinds.Role{kinds.Admin}
	everyone = []kinds.Role{kinds.Host, kinds.Auditor, kinds.Billing, kinds.Admin}
	operator = []kinds.Role{kinds.Operator}
)

// table is every endpoint, in the order of the documentation.
func (a *API) table() []*Route {
	return slices.Concat(a.recordRoutes(), a.graphRoutes(), a.contextRoutes(), a.contextVerifyRoutes(), a.turnRoutes(), a.bulkRoutes(), a.entryRoutes(), a.entryVerifyRoutes(), a.auditRoutes(), a.consentRoutes(), a.findingRoutes(), a.disputeRoutes(), a.evidenceRoutes(), a.usageRoutes(), a.shippingRoutes(), a.billingRoutes(), a.billingRunRoutes(), a.verifyRoutes(), a.bundleRoutes(), a.policyRoutes(), a.erasureRoutes(), a.tokenRoutes(), a.tenantRoutes(), a.logRoutes(), a.tileRoutes(), a.proofRoutes(), a.serviceRoutes())
}

func seqParam(doc string) []Param {
	return []Param{{Name: "seq", Required: true, Form: "integer", Doc: doc}}
}
