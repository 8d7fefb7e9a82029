package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/frames"
	"ledgerd/ledger"
	"ledgerd/receipts"
)

// DisputeQuestion is what is disputed: the usage of a customer from From to To (half-open, of as_of), or one billing event,
// one request or one receipt.
type DisputeQuestion struct {
	CustomerID   string     `json:"customer_id,omitzero"`
	From         *time.Time `json:"from,omitzero"`
	To           *time.Time `json:"to,omitzero"`
	BillingEvent string     `json:"billing_event,omitzero"` // the identifier under which the payment processor knows it
	RequestID    string     `json:"request_id,omitzero"`
	ReceiptID    string     `json:"receipt_id,omitzero"`
}

// The results of a dispute.
const (
	DisputeExplained    = "explained"    // every billed token maps to a consistent, included and consented report
	DisputeUpheld       = "upheld"       // some rule is broken; Failures names it
	DisputeInconclusive = "inconclusive" // nothing failed, and something is open
)

// Dispute is a dispute that was raised.
type Dispute struct {
	DisputeID  string           `json:"dispute_id"`
	State      string           `json:"state"` // queued, running, failed or recorded
	Progress   *DisputeProgress `json:"progress,omitzero"`
	Problem    string           `json:"problem,omitzero"` // of a failed one: a problem's code
	Seq        *int64           `json:"seq"`              // the entry, nil until it is recorded
	RecordedAt *time.Time       `json:"recorded_at"`
	RaisedBy   *ledger.Actor    `json:"raised_by"`
	Decision   *DisputeDecision `json:"decision"`       // as it was recorded, nil until then
	Proof      *Proof           `json:"proof,omitzero"` // nil unless the call asked for one
}

// DisputeProgress is how much of a dispute's chain is verified.
type DisputeProgress struct {
	State         string `json:"state"`
	Done          int64  `json:"done"`
	Total         int64  `json:"total"`
	Reverifying   bool   `json:"reverifying"` // a recorded dispute is decided again
	FailedProblem string `json:"problem,omitzero"`
}

// DisputeDecision is what a dispute was decided to be. Sums are decimal strings.
type DisputeDecision struct {
	DisputeID   string              `json:"dispute_id"`
	Rules       string              `json:"rules"` // version of the rules that decided
	Question    DisputeQuestion     `json:"question"`
	Reason      string              `json:"reason"`
	Against     VerifiedTree        `json:"against"`
	Result      string              `json:"result"`
	Failures    []DisputeFinding    `json:"failures"`
	Open        []DisputeFinding    `json:"open"`
	Levels      []DisputeLevel      `json:"levels"`
	Differences []DisputeDifference `json:"differences"`
	Entries     DisputeEntries      `json:"entries"`
}

// VerifiedTree is the tree that everything was verified in.
type VerifiedTree struct {
	Origin   string `json:"origin"`
	TreeSize int64  `json:"tree_size"`
	RootHash string `json:"root_hash"`
}

// DisputeFinding is a rule that entries break, or what can't be said of them.
type DisputeFinding struct {
	Rule  string  `json:"rule"`
	Times int64   `json:"times"`
	Seqs  []int64 `json:"seqs"` // the first of them
	Text  string  `json:"text"`
}

// DisputeLevel is a total.
type DisputeLevel struct {
	Level   string `json:"level"`
	Entries int64  `json:"entries"`
	Tokens  string `json:"tokens"`
}

// DisputeDifference is by how much a level exceeds the one before.
type DisputeDifference struct {
	Level  string `json:"level"`
	Before string `json:"before"`
	Tokens string `json:"tokens"`
}

// DisputeEntries are the entries of the chain, each list in order of seq.
type DisputeEntries struct {
	Intents  []int64 `json:"intents"`
	Outcomes []int64 `json:"outcomes"`
	Reports  []int64 `json:"reports"`
	Consents []int64 `json:"consents"`
	Receipts []int64 `json:"receipts"`
	Configs  []int64 `json:"configs"` // of billing
}

// WholeDispute is a dispute with its chain, read and verified again. Reports come page by page.
type WholeDispute struct {
	Dispute
	Events          []DisputedEvent  `json:"events"`
	Reports         []DisputedReport `json:"reports"`
	NextCursor      *string          `json:"next_cursor"` // nil at the end of the reports
	Reverifications []Reverification `json:"reverifications"`
}

// DisputedEvent is a billing event of the chain.
type DisputedEvent struct {
	Seq            int64         `json:"seq"`
	Identifier     string        `json:"identifier"`
	StripeCustomer string        `json:"stripe_customer"`
	EventName      string        `json:"event_name"`
	Value          string        `json:"value"`
	Timestamp      time.Time     `json:"timestamp"`
	Window         DisputeWindow `json:"window"`
	Claims         int           `json:"claims"`
	Replaces       *int64        `json:"replaces"`
	State          string        `json:"state"`
	Outcomes       []int64       `json:"outcomes"`
}

// DisputeWindow is a half-open window of usage.
type DisputeWindow struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// DisputedReport is a usage report, or a correction of one.
type DisputedReport struct {
	Seq          int64               `json:"seq"`
	RequestID    string              `json:"request_id"`
	AsOf         time.Time           `json:"as_of"`
	Corrects     *int64              `json:"corrects"` // nil for a report
	Verification *VerificationReport `json:"verification"`
	Providers    []DisputedProvider  `json:"providers"`
	Receipts     []int64             `json:"receipts"`
}

// DisputedProvider is what a report used of one provider.
type DisputedProvider struct {
	ProviderID string          `json:"provider_id"`
	Tokens     string          `json:"tokens"`
	Claims     []DisputedClaim `json:"claims"`
	Consent    *ConsentRuling  `json:"consent"` // nil for a correction
	Frames     []DisputedFrame `json:"frames"`
}

// DisputedClaim says which intent bills it.
type DisputedClaim struct {
	Intent int64  `json:"intent"`
	Tokens string `json:"tokens"`
}

// ConsentRuling says how an egress was covered at its instant.
type ConsentRuling struct {
	ProviderID string        `json:"provider_id"`
	Verdict    Verdict       `json:"verdict"`
	Scopes     []ScopeRuling `json:"scopes"`
	Basis      []int64       `json:"basis"` // the declarations and consents that decide
}

// ScopeRuling is the ruling on one scope.
type ScopeRuling struct {
	Scope   receipts.EgressScope `json:"scope"`
	Basis   string               `json:"basis"`
	Verdict Verdict              `json:"verdict"`
}

// DisputedFrame is one served frame and its cost.
type DisputedFrame struct {
	frames.FrameID
	Tokens string `json:"tokens"`
}

// Reverification is what was found when a dispute was decided again.
type Reverification struct {
	Seq        int64               `json:"seq"`
	RecordedAt time.Time           `json:"recorded_at"`
	Found      ReverificationFound `json:"found"`
	Proof      *Proof              `json:"proof,omitzero"` // nil unless the call asked for one
}

// ReverificationFound says how a dispute stands. Changed is empty when nothing did since it was recorded.
type ReverificationFound struct {
	OfSeq   int64          `json:"of_seq"`
	Cause   string         `json:"cause"`
	After   *int64         `json:"after"`
	Result  string         `json:"result"`
	Digest  string         `json:"digest"`
	Failed  []FailedCheck  `json:"failed"`
	Changed []string       `json:"changed"`
	Against VerifiedTree   `json:"against"`
	Levels  []DisputeLevel `json:"levels"`
}

// FailedCheck is a check that failed, or a rule that is broken or open.
type FailedCheck struct {
	Check  string `json:"check"`
	Fault  string `json:"fault"`
	Reason string `json:"reason"`
}

// RaiseDispute disputes a charge or an egress, for an auditor's or billing's token. The same key raises it once; with "" each
// call raises one. One that covers much is queued: see Dispute.State, and ask again with Dispute.
func (c *Client) RaiseDispute(ctx context.Context, q DisputeQuestion, reason, key string) (Dispute, error) {
	body, err := json.Marshal(struct {
		DisputeQuestion
		Reason string `json:"reason"`
	}{q, reason})
	if err != nil {
		return Dispute{}, errors.New("raising a dispute: it can't be written as JSON, which demands valid UTF-8")
	}
	if key == "" {
		key = "client-" + rand.Text()
	}
	var d Dispute
	_, err = c.call(ctx, request{doing: "raising a dispute", method: http.MethodPost, path: "/v1/disputes", key: key, body: body, effect: idempotent}, &d)
	return d, err
}

// Dispute reads a dispute; cursor is the NextCursor of the page before, "" to begin, limit the reports of a page, 0 for 50.
func (c *Client) Dispute(ctx context.Context, id, cursor string, limit int) (WholeDispute, error) {
	q := url.Values{}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	var d WholeDispute
	_, err := c.call(ctx, request{doing: "reading a dispute", method: http.MethodGet, path: disputePath(id), query: q}, &d)
	return d, err
}

// ReverifyDispute decides a dispute again and returns what was recorded of that, nil when it was queued.
func (c *Client) ReverifyDispute(ctx context.Context, id string) (*Reverification, error) {
	var r struct {
		Reverification
		State string `json:"state"` // of the dispute, when it was queued
	}
	_, err := c.call(ctx, request{doing: "deciding a dispute again", method: http.MethodPost, path: disputePath(id) + "/reverify", effect: once}, &r)
	if err != nil || r.State != "" {
		return nil, err
	}
	return &r.Reverification, nil
}

// DisputeEvidence writes a dispute with all that proves it to w, as Evidence does.
func (c *Client) DisputeEvidence(ctx context.Context, id string, w io.Writer) (int64, error) {
	return c.downloadFile(ctx, request{doing: "downloading evidence of a dispute", method: http.MethodGet, path: disputePath(id) + "/evidence"}, w)
}

func disputePath(id string) string { return "/v1/disputes/" + url.PathEscape(id) }
