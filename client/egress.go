package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/receipts"
	"ledgerd/receipts/air"
)

// EgressQuery asks what left the machine, to whom, who agreed, when. Empty strings select all.
type EgressQuery struct {
	From, To      time.Time // half-open; instants of as_of, the effective time that the hosts claimed
	ProviderID    string
	CustomerID    string
	Grantor       string // only lines with a scope that this human or policy agreed to
	GrantorKind   string // human or policy: the grantor is one
	Scope         string // only lines with this scope
	FrameID       string // only this frame: counts and tokens are then the frame's
	ContentDigest string
	Size          int64 // as of this earlier tree size; 0 is the newest
	Verify        bool  // verify every entry behind the answer again
}

// Values is the question as the API's query string has it.
func (q EgressQuery) Values() url.Values {
	v := url.Values{"from": {q.From.UTC().Format(time.RFC3339Nano)}, "to": {q.To.UTC().Format(time.RFC3339Nano)}}
	for name, value := range map[string]string{
		"provider_id": q.ProviderID, "customer_id": q.CustomerID, "grantor": q.Grantor, "grantor_kind": q.GrantorKind, "scope": q.Scope,
		"frame_id": q.FrameID, "content_digest": q.ContentDigest,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Size > 0 {
		v.Set("size", strconv.FormatInt(q.Size, 10))
	}
	if q.Verify {
		v.Set("verify", "true")
	}
	return v
}

// Verdict is what the ledger can say about one scope at the instant of one egress.
type Verdict string

// The verdicts, best first.
const (
	LocalOnly       Verdict = "local-only"          // by its declaration, nothing leaves the machine
	Consented       Verdict = "consented"           // a grant was in force at that instant and had been recorded by then
	LegacyConsented Verdict = "legacy-consented"    // boolean egress, covered by a boolean consent in the same way
	ReachUnknown    Verdict = "reach-unknown"       // not covered; nothing was served, but the query itself may have gone there
	RecordedAfter   Verdict = "recorded-after"      // in force on paper, but recorded only after the egress
	Expired         Verdict = "expired"             // granted before, and lapsed by then
	Revoked         Verdict = "revoked"             // granted before, and taken back by then
	GrantedAfter    Verdict = "granted-after"       // granted later than the egress
	Undeclared      Verdict = "undeclared-provider" // no declaration was on record by then, so no consent is known to cover what left
	Unconsented     Verdict = "unconsented"         // no readable grant
)

// The flags of a line.
const (
	FlagUndeclared     = "undeclared-provider"       // no declaration was on record by then; without a later one the scopes are those that somebody agreed to
	FlagDeclaredAfter  = "declared-after"            // the declaration in force was recorded only after the egress; the worse of it and of the known one counts
	FlagNoConsent      = "no-recorded-consent"       // no consent of any sort is recorded for the provider
	FlagDrift          = "identity-drift"            // the declared name or version is none that the consent in force was given to
	FlagLateRevocation = "revocation-recorded-after" // revoked at the egress, but no revocation that says so was on record by then
	FlagReachUnknown   = "reach-unknown"             // some reports served nothing, but the query itself may have gone to the provider
	FlagErased         = "erased"                    // parts of what was served were erased
)

// EgressAnswer answers an EgressQuery. Sums are decimal strings, so that no reader rounds them, and each token is counted
// once, however many scopes its provider has.
type EgressAnswer struct {
	Period   Period       `json:"period"`
	TreeSize int64        `json:"tree_size"` // the answer covers entries below this size
	Lines    []EgressLine `json:"lines"`
	Totals   EgressTotals `json:"totals"`
	Erased   EgressErased `json:"erased"`
	// Verification is nil unless it was asked for.
	Verification *EgressVerification `json:"verification,omitzero"`
	Notes        []string            `json:"notes"` // what the answer does not show
}

// EgressVerification says that every entry behind the answer was checked again by the server. The checkpoint is the signed
// note that the entries were proven under.
type EgressVerification struct {
	Verified   bool   `json:"verified"`
	Entries    int    `json:"entries"`
	Failed     int    `json:"failed"`
	Checkpoint string `json:"checkpoint"`
}

// EgressErased counts entries of the period whose personal part was erased, whatever the filters: what they named can't be
// found any more.
type EgressErased struct {
	Reports   int `json:"reports"`   // usage reports that served frames
	Exchanges int `json:"exchanges"` // receipts; no line shows them
}

// Period is a half-open period of instants.
type Period struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// EgressTotals are sums over all lines.
type EgressTotals struct {
	Reports      int             `json:"reports"` // reports per provider, added up
	FramesServed string          `json:"frames_served"`
	Tokens       string          `json:"tokens"`
	Verdicts     map[Verdict]int `json:"verdicts"` // lines per verdict
}

// EgressLine is one provider's part of the answer, under one of its declarations.
type EgressLine struct {
	ProviderID  string             `json:"provider_id"`
	Declaration *EgressDeclaration `json:"declaration"` // in force at the reports' as_of by its own instant; nil for none
	// KnownDeclaration is, with FlagDeclaredAfter, the one that was in force by what had been recorded; nil for none.
	KnownDeclaration *EgressDeclaration `json:"known_declaration,omitzero"`
	Verdict          Verdict            `json:"verdict"` // the worst of the reports
	Reports          int                `json:"reports"`
	FirstAsOf        time.Time          `json:"first_as_of"`
	LastAsOf         time.Time          `json:"last_as_of"`
	FramesServed     string             `json:"frames_served"`
	Tokens           string             `json:"tokens"`
	Frames           []EgressFrame      `json:"frames"`
	Scopes           []EgressScope      `json:"scopes"`
	Exchanges        []EgressExchange   `json:"exchanges"`
	Flags            []string           `json:"flags"`
	Seqs             []int64            `json:"seqs"` // the usage reports
	Verification     *LineVerification  `json:"verification,omitzero"`
}

// EgressDeclaration is how the provider introduced itself, from when on.
type EgressDeclaration struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	DataFlow   receipts.DataFlow `json:"data_flow"`
	DeclaredAt string            `json:"declared_at"` // as written by the host
	RecordedAt time.Time         `json:"recorded_at"`
	Seq        int64             `json:"seq"`
}

// EgressExchange is what recorded receipts of exchanges say about where requests of the line went. The disclosures say what
// they do not prove.
type EgressExchange struct {
	EndpointHost   string           `json:"endpoint_host"`
	ModelID        string           `json:"model_id"`
	Provider       string           `json:"provider"`
	RetentionClass string           `json:"retention_class"`
	WitnessMode    string           `json:"witness_mode"`
	Status         string           `json:"status"`
	Disclosures    []air.Disclosure `json:"disclosures"`
	Seqs           []int64          `json:"seqs"`
}

// LineVerification says whether all entries behind a line verify.
type LineVerification struct {
	Verified bool           `json:"verified"`
	Entries  int            `json:"entries"`
	Failed   []EntryProblem `json:"failed"`
}

// EntryProblem is an entry behind an answer that does not verify, and in what.
type EntryProblem struct {
	Seq    int64  `json:"seq"`
	Fault  string `json:"fault"`
	Detail string `json:"detail"`
}

// EgressFrame is one frame that left, by identity, over all reports of the line.
type EgressFrame struct {
	frames.FrameID
	Times  int     `json:"times"`
	Tokens string  `json:"tokens"`
	Seqs   []int64 `json:"seqs"`
}

// EgressScope is one class of destination of a line; empty where there is none to name, which Basis explains. Verdict is the
// worst of Verdicts, which counts reports.
type EgressScope struct {
	Scope       receipts.EgressScope `json:"scope"`
	Basis       string               `json:"basis"` // declared, boolean-egress, granted or none
	Verdict     Verdict              `json:"verdict"`
	Verdicts    map[Verdict]int      `json:"verdicts"`
	Grants      []EgressGrant        `json:"grants"`
	Records     []EgressRecord       `json:"records"` // boolean consents
	Revocations []EgressRevocation   `json:"revocations"`
	Seqs        []int64              `json:"seqs"` // the consents and revocations
}

// EgressRecord is a boolean consent. It names nobody.
type EgressRecord struct {
	GrantedAt  *string   `json:"granted_at"` // as written by the host, nil when it did not say
	RecordedAt time.Time `json:"recorded_at"`
	Seq        int64     `json:"seq"`
}

// EgressRevocation is who took consent back, and when.
type EgressRevocation struct {
	RevokedBy  *receipts.Grantor `json:"revoked_by"` // nil once erased
	RevokedAt  string            `json:"revoked_at"`
	Reason     *string           `json:"reason"`
	RecordedAt time.Time         `json:"recorded_at"`
	Seq        int64             `json:"seq"`
}

// EgressGrant is who agreed, when, and to whom by name at that time. Who agreed is what a host's token claimed.
type EgressGrant struct {
	Grantor         *receipts.Grantor `json:"grantor"` // nil once erased
	ProviderName    string            `json:"provider_name"`
	ProviderVersion string            `json:"provider_version"`
	GrantedAt       string            `json:"granted_at"` // as written by the host
	ExpiresAt       *string           `json:"expires_at"`
	RecordedAt      time.Time         `json:"recorded_at"`
	Seq             int64             `json:"seq"`
}

// Egress asks the auditor's question, for an auditor's token.
func (c *Client) Egress(ctx context.Context, q EgressQuery) (EgressAnswer, error) {
	var a EgressAnswer
	_, err := c.call(ctx, request{doing: "asking what left", method: http.MethodGet, path: "/v1/audit/egress", query: q.Values()}, &a)
	return a, err
}
