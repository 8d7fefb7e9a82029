package client

import (
	"context"
	"net/http"
	"time"
)

// TrustPolicy says whose keys a tenant relies on when receipt bundles are verified.
type TrustPolicy struct {
	Pins                 []Pin   `json:"pins"`
	MaxFutureSkewSeconds uint32  `json:"max_future_skew_seconds"` // 0 to 86400
	IssuerOperator       *string `json:"issuer_operator,omitzero"`
}

// Pin is one key that the tenant relies on, with a comment and who vouched for it.
type Pin struct {
	KeyRef    string `json:"key_ref"`
	Comment   string `json:"comment"`
	VouchedBy string `json:"vouched_by"`
}

// TrustPolicyInForce is the newest revision of a tenant's policy.
type TrustPolicyInForce struct {
	Seq        int64       `json:"seq"`
	Revision   int64       `json:"revision"`
	RecordedAt time.Time   `json:"recorded_at"`
	Policy     TrustPolicy `json:"policy"`
}

// PutTrustPolicy sets the trust policy, for an admin's token. It becomes the next revision; the one in force already is a
// replay. The entry's key is the revision.
func (c *Client) PutTrustPolicy(ctx context.Context, p TrustPolicy) (Recorded, error) {
	return c.record(ctx, request{doing: "setting the trust policy", method: http.MethodPut, path: "/v1/trust-policy"}, p)
}

// TrustPolicy reads the policy in force, for an admin's or auditor's token. A tenant without one is a *Problem with status
// 404.
func (c *Client) TrustPolicy(ctx context.Context) (TrustPolicyInForce, error) {
	var p TrustPolicyInForce
	_, err := c.call(ctx, request{doing: "reading the trust policy", method: http.MethodGet, path: "/v1/trust-policy"}, &p)
	return p, err
}
