package api

import (
	"context"
	"math/big"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/kinds"
	"ledgerd/metering"
	"ledgerd/metering/billing"
)

// billingReader reads how usage is billed, and what became of it. kinds.ErrTooMuch where an answer would be too long.
type billingReader interface {
	BillingConfig(ctx context.Context, tenant string) (*kinds.BillingConfig, error)
	BilledTo(ctx context.Context, tenant, customerID string) ([]string, error)
	BillingTerms(ctx context.Context, tenant string) (*billing.Terms, error)
	Corrected(ctx context.Context, tenant string, a kinds.CorrectionArtifact) (*kinds.Corrected, error)
	UnclaimedUsage(ctx context.Context, tenant, customerID string, from, to time.Time, limit int) ([]billing.Line, error)
	UsageBefore(ctx context.Context, tenant, customerID string, start time.Time) (lines int64, tokens *big.Int, err error)
	UsageNotCounted(ctx context.Context, tenant, customerID string, providers []string, from, to time.Time) (lines int64, tokens *big.Int, err error)
	ErasedUsage(ctx context.Context, tenant string, start time.Time) (lines int64, tokens *big.Int, err error)
	Unmapped(ctx context.Context, tenant string, c *kinds.BillingConfig, after string, limit int) (list []billing.UnmappedUsage, tokens *big.Int, err error)
	HeldIn(ctx context.Context, l billing.Lane, periods []billing.Period) ([]billing.Held, error)
	BilledWindows(ctx context.Context, tenant string, customers []string, from, to time.Time, limit int) (list []billing.Pending, next *time.Time, err error)
	TakenBack(ctx context.Context, tenant, customerID string, from, to time.Time, limit int) ([]billing.TakenBack, error)
	IntentNamed(ctx context.Context, tenant, identifier string) (billing.Pending, error)
	Intent(ctx context.Context, tenant string, seq int64) (billing.Pending, error)
	Outcomes(ctx context.Context, tenant string, intent int64) ([]kinds.RecordedOutcome, error)
	ClaimantOf(ctx context.Context, tenant string, intent int64) (claimant, next int64, err error)
	ClaimedLines(ctx context.Context, tenant string, intent, afterSeq int64, afterProvider string, limit int) ([]metering.Line, error)
}

// Bounds of answers about billing.
const (
	maxWaitingLines = 50_000 // that one answer looks at
	maxTakenBack    = 1_000
	maxWindows      = 200
	maxClaims       = 1_000
	maxUnmapped     = 1_000
)

var accountants = []kinds.Role{kinds.Auditor, kinds.Billing, kinds.Admin}

// BillingConfigBody is the billing configuration in force.
type BillingConfigBody struct {
	Seq        int64          `json:"seq"`
	Revision   int64          `json:"revision"`
	RecordedAt time.Time      `json:"recorded_at"`
	Config     jsontext.Value `json:"config"`
}

// BillingConfigArtifact is the shape of a billing configuration, for the API's description; billing.DecodeConfig reads it.
type BillingConfigArtifact struct {
	SecretKey     string            `json:"secret_key" jsonschema:"the name of the account's secret key, which the operator has set; never the key itself"`
	WebhookSecret string            `json:"webhook_secret,omitzero" jsonschema:"the name of the secret that signs the account's webhook"`
	Meter         BillingMeterShape `json:"meter"`
	Window        string            `json:"window" jsonschema:"hour or day, of UTC"`
	Start         time.Time         `json:"start" jsonschema:"usage before is never billed; a whole minute"`
	Settle        *uint32           `json:"settle_seconds,omitzero" jsonschema:"how long after its end a window is planned; 600 when absent, at most 86400"`
	Grace         *uint32           `json:"invoice_grace_seconds,omitzero" jsonschema:"from a billing period's end until its invoice is final, as the account has it; 3600 when absent, at most 604800"`
	Providers     []string          `json:"providers,omitzero" jsonschema:"whose tokens count; all when absent"`
	Customers     []BillingCustomer `json:"customers"`
}

// BillingMeterShape is the account's meter.
type BillingMeterShape struct {
	ID          string `json:"id"`
	EventName   string `json:"event_name"`
	CustomerKey string `json:"customer_key,omitzero" jsonschema:"payload key of the customer; stripe_customer_id when absent"`
	ValueKey    string `json:"value_key,omitzero" jsonschema:"payload key of the value; value when absent"`
}

// BillingCustomer is whom a customer is billed to.
type BillingCustomer struct {
	CustomerID     string    `json:"customer_id" jsonschema:"as in usage reports; it stays in the log, so let it name nobody"`
	StripeCustomer string    `json:"stripe_customer" jsonschema:"no other customer has it"`
	BillingAnchor  time.Time `json:"billing_anchor" jsonschema:"of the subscription; its seconds are dropped"`
}

func (a *API) billingRoutes() []*Route {
	customer := Param{Name: "customer_id", Required: true, Form: "string", Doc: "Whose."}
	return []*Route{
		{
			Method: "PUT", Path: "/v1/billing/config", Name: "putBillingConfig", Summary: "Set how usage is billed",
			Doc: "Appended as a new revision, never edited; the same again is a replay. What is planned stays as it was planned; usage that nothing claims is planned under the newest revision. " +
				"The account's meter and customers are checked before anything is sent, not here.",
			Roles: admins, Query: []Param{proofParam}, Body: BillingConfigArtifact{}, Replies: recordReplies,
			Problems: []string{"invalid-json", "unknown-member", "missing-member", "invalid-value", "out-of-range", "conflict", "busy"},
			handle:   func(c *call) (reply, error) { return a.record(c, &kinds.BillingConfigKind, withoutKey) },
		},
		{
			Method: "GET", Path: "/v1/billing/config", Name: "getBillingConfig", Summary: "Read how usage is billed",
			Roles: accountants, Replies: []Reply{{Status: 200, Doc: "The configuration in force.", Body: BillingConfigBody{}}}, Problems: []string{"not-found"}, handle: a.getBillingConfig,
		},
		{
			Method: "POST", Path: "/v1/corrections", Name: "postCorrection", Summary: "Correct a usage report",
			Doc: "Takes the report back, and may put another in its place. Sums follow at once, and what was billed is told as a difference. A report is corrected once: the same correction again is a replay, " +
				"another is a conflict. A correction with a replacement can itself be corrected, by its seq. What left the machine is not changed by it. A report whose content was erased can't be corrected.",
			Roles: kinds.Correction.PostedBy, Query: []Param{proofParam}, Body: kinds.CorrectionArtifact{}, Replies: recordReplies,
			Problems: []string{"invalid-json", "missing-member", "not-found", "nothing-to-correct", "usage-inconsistent", "as-of-not-acceptable", "content-too-large", "conflict", "erased", "busy"},
			handle:   func(c *call) (reply, error) { return a.record(c, &kinds.Correction, withoutKey) },
		},
		{
			Method: "GET", Path: "/v1/billing/windows", Name: "billingWindows", Summary: "What was billed to a customer, window by window",
			Doc:   "Each window with the intents that tell of it, what waits and why, and corrections that touch a final invoice. It reads on in the log first.",
			Roles: accountants, Query: []Param{customer,
				{Name: "from", Form: "date-time", Doc: "Windows from this instant on; all when absent."},
				{Name: "to", Form: "date-time", Doc: "Windows before this instant."},
				{Name: "limit", Form: "integer", Doc: "Windows per answer at most, 1 to 200, 50 by default."},
			},
			Replies: []Reply{{Status: 200, Doc: "The windows.", Body: BillingWindowsBody{}}}, Problems: []string{"not-found", "question-too-wide"}, handle: a.getBillingWindows,
		},
		{
			Method: "GET", Path: "/v1/billing/preview", Name: "billingPreview", Summary: "What would be billed to a customer now",
			Doc:   "Plans the usage of a period that nothing claims, and records nothing. What can't be planned is summed up with its reason.",
			Roles: accountants, Query: []Param{customer,
				{Name: "from", Required: true, Form: "date-time", Doc: "First instant of as_of."},
				{Name: "to", Required: true, Form: "date-time", Doc: "End of the period, not included."},
			},
			Replies: []Reply{{Status: 200, Doc: "The plan.", Body: BillingPreviewBody{}}}, Problems: []string{"not-found", "question-too-wide"}, handle: a.getBillingPreview,
		},
		{
			Method: "GET", Path: "/v1/billing/unmapped", Name: "billingUnmapped", Summary: "Usage that nobody is billed for",
			Doc:   "Customers that the configuration does not map, whose usage waits; and what was erased before it could be billed.",
			Roles: accountants, Query: []Param{
				{Name: "after", Form: "string", Doc: "Customers after this one: the next of the page before."},
				{Name: "limit", Form: "integer", Doc: "Customers per page at most, 1 to 1,000, 100 by default."},
			},
			Replies: []Reply{{Status: 200, Doc: "The customers.", Body: BillingUnmappedBody{}}}, Problems: []string{"not-found"}, handle: a.getBillingUnmapped,
		},
		a.billingEventRoute(),
	}
}

// billingEnv reads what the checks of two kinds depend on.
func (a *API) billingEnv(c *call, kind *kinds.Kind, s kinds.Submission, env *kinds.Env) (err error) {
	switch kind {
	case &kinds.BillingConfigKind:
		env.Billing, err = a.store.BillingConfig(c.ctx(), c.who.Tenant)
	case &kinds.Correction:
		var artifact kinds.CorrectionArtifact
		if artifact, err = kinds.ParseCorrection(s); err == nil {
			env.Corrected, err = a.store.Corrected(c.ctx(), c.who.Tenant, artifact)
		}
	}
	return err
}

// billingConfig is the configuration in force; kinds.ErrNotFound when there is none.
func (a *API) billingConfig(c *call) (*kinds.BillingConfig, error) {
	config, err := a.store.BillingConfig(c.ctx(), c.who.Tenant)
	if err == nil && config == nil {
		err = kinds.ErrNotFound
	}
	return config, err
}

func (a *API) getBillingConfig(c *call) (reply, error) {
	config, err := a.billingConfig(c)
	if err != nil {
		return reply{}, err
	}
	return reply{
		status: 200, header: map[string]string{"ETag": `"` + strconv.FormatInt(config.Revision, 10) + `"`},
		body: BillingConfigBody{Seq: config.Seq, Revision: config.Revision, RecordedAt: config.RecordedAt, Config: config.Artifact},
	}, nil
}
