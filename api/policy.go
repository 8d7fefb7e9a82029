package api

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/kinds"
)

// TrustPolicyBody is the trust policy in force.
type TrustPolicyBody struct {
	Seq        int64          `json:"seq"`
	Revision   int64          `json:"revision"`
	RecordedAt time.Time      `json:"recorded_at"`
	Policy     jsontext.Value `json:"policy"`
}

func (a *API) policyRoutes() []*Route {
	return []*Route{
		{
			Method: "PUT", Path: "/v1/trust-policy", Name: "putTrustPolicy", Summary: "Set the tenant's trust policy",
			Doc: "Whose keys the tenant relies on, with a comment and who vouched for each. It is appended as a new revision, never edited; " +
				"earlier ones stay readable as entries of kind trust-policy. The same policy again is a replay. Pins never come from a bundle.",
			Roles: admins, Query: []Param{proofParam}, Body: kinds.TrustPolicyArtifact{}, Replies: recordReplies, Problems: []string{"trust-policy-refused", "conflict", "busy"},
			handle: func(c *call) (reply, error) { return a.record(c, &kinds.TrustPolicyKind, withoutKey) },
		},
		{
			Method: "GET", Path: "/v1/trust-policy", Name: "getTrustPolicy", Summary: "Read the trust policy in force",
			Roles: []kinds.Role{kinds.Admin, kinds.Auditor}, Replies: []Reply{{Status: 200, Doc: "The policy.", Body: TrustPolicyBody{}}},
			Problems: []string{"not-found"}, handle: a.getTrustPolicy,
		},
	}
}

// withoutKey: the body is the artifact, and the kind has a key of its own.
func withoutKey(_ *call, body []byte) (kinds.Submission, error) {
	return kinds.Submission{Artifact: body}, nil
}

func (a *API) getTrustPolicy(c *call) (reply, error) {
	p, err := a.store.TrustPolicy(c.ctx(), c.who.Tenant)
	if err != nil {
		return reply{}, err
	}
	if p == nil {
		return reply{}, kinds.ErrNotFound
	}
	return reply{
		status: 200, header: map[string]string{"ETag": `"` + strconv.FormatInt(p.Revision, 10) + `"`},
		body: TrustPolicyBody{Seq: p.Seq, Revision: p.Revision, RecordedAt: p.RecordedAt, Policy: p.Artifact},
	}, nil
}
