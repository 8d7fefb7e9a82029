package kinds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/receipts/air"
)

// ReceiptBundle is an AI Interaction Receipt bundle (profile v1), verified when it is received. An invalid one is refused;
// valid and indeterminate ones are recorded with the verdict, the policy that it was reached under and its time. Context:
// request_id, optional. The key is receipt_id@digest of the bundle, so that a second bundle of the same receipt with more
// proofs is an entry of its own.
var ReceiptBundle = Kind{
	Name:       "receipt-bundle",
	Core:       "the rules of the AI Interaction Receipt profile that need no trust, the bundle's own signatures among them",
	PostedBy:   []Role{Host},
	MaxBytes:   air.MaxBundleBytes,
	UsesPolicy: true,
	Tables:     []*Table{&receiptRows},
	ClaimSpace: ReceiptClaim,
	check:      checkReceiptBundle,
	project:    projectReceiptBundle,
	refers:     referencesOfBundle,
}

var receiptRows = Table{Name: "receipts", Columns: []Column{
	{Name: "receipt_id", Personal: true}, {Name: "receipt_digest"}, {Name: "request_digest", Personal: true}, {Name: "response_digest", Personal: true},
	{Name: "endpoint_host"}, {Name: "model_id"}, {Name: "retention_class"}, {Name: "provider"}, {Name: "exchanged_at"},
	{Name: "witness_mode"}, {Name: "status"}, {Name: "request_id", Personal: true},
}}

// ReceiptClaim is the space in which a valid receipt reserves its receipt_id for its digest (profile §10, replay).
const ReceiptClaim = "receipt_id"

// BundleReceiver is what the server records about a bundle: all that a later re-verification must reproduce.
type BundleReceiver struct {
	Findings      []frames.Finding `json:"findings"`
	PolicySeq     *int64           `json:"policy_seq"` // the trust-policy entry in force, null when there was none
	ReceiptDigest string           `json:"receipt_digest"`
	Verdict       air.Result       `json:"verdict"`
	VerifiedAt    string           `json:"verified_at"` // the profile's timestamp form
}

// ProfileTime is the spelling of an instant in profile v1: UTC, whole seconds.
const ProfileTime = "2006-01-02T15:04:05Z"

func checkReceiptBundle(s Submission, env Env) (*Accepted, error) {
	requestID, err := parseBundleContext(s)
	if err != nil {
		return nil, err
	}
	policy, policySeq, err := env.policyNow()
	if err != nil {
		return nil, err
	}
	result := air.Verify(s.Artifact, policy)
	if result.Unreadable() {
		return nil, UnreadableBundle(s, result)
	}
	claims := claimsOf(result)
	if claims == nil {
		return nil, invalidBundle(s, result)
	}
	content, err := canonical(s, BundleReceiver{
		Findings: []frames.Finding{}, PolicySeq: policySeq, ReceiptDigest: claims.ReceiptDigest,
		Verdict: result, VerifiedAt: env.Now.UTC().Format(ProfileTime),
	})
	if err != nil {
		return nil, err
	}
	p := bundleProjection(claims, content.Artifact, requestID, result.Status)
	return &Accepted{Key: p.Key, Content: content, Claims: p.Claims, Rows: p.Rows}, nil
}

// projectReceiptBundle takes the verdict's status as it was recorded: under which policy a bundle was judged is stated in the
// same content, and judging it again is re-verification, not a question of whether the rows follow from it. What the bundle
// says is read anew, by all rules that need no trust, its own signatures among them.
func projectReceiptBundle(c ledger.Content) (Projection, error) {
	requestID, err := parseBundleContext(recorded(c))
	if err != nil {
		return Projection{}, err
	}
	var receiver BundleReceiver
	if err := json.Unmarshal(c.Receiver, &receiver); err != nil {
		return Projection{}, fmt.Errorf("reading the recorded verdict: %w", err)
	}
	result := air.Verify(c.Artifact, nil)
	claims := claimsOf(result)
	if claims == nil {
		return Projection{}, invalidBundle(recorded(c), result)
	}
	return bundleProjection(claims, c.Artifact, requestID, receiver.Verdict.Status), nil
}

// bundleProjection is what follows from a bundle and its verdict; artifact is canonical.
func bundleProjection(claims *air.Claims, artifact []byte, requestID *string, status air.Status) Projection {
	sum := sha256.Sum256(artifact)
	return Projection{
		Key:    claims.ReceiptID + "@sha256:" + hex.EncodeToString(sum[:]),
		Claims: []Claim{{Space: ReceiptClaim, Name: claims.ReceiptID, Value: claims.ReceiptDigest, Reserves: status == air.Valid}},
		Rows: []Rows{{Table: &receiptRows, Values: [][]any{{
			claims.ReceiptID, claims.ReceiptDigest, claims.RequestDigest, claims.ResponseDigest, claims.EndpointHost, claims.ModelID,
			claims.RetentionClass, claims.Provider, claims.Timestamp, string(claims.WitnessMode), string(status), requestID,
		}}}},
	}
}

func parseBundleContext(s Submission) (*string, error) {
	var requestID *string
	d := strictjson.NewDecoder(s.context(), strictjson.Closed)
	d.Object(strictjson.Opt("request_id", func() { requestID = d.OptString() }))
	if err := finish(d, s.ContextAt); err != nil || requestID == nil {
		return nil, err
	}
	return requestID, CheckKey(s.ContextAt+"/request_id", *requestID)
}

// policyNow is the policy to verify under at the receiver's time, and the entry that states it; nil without one.
func (e Env) policyNow() (*air.Policy, *int64, error) {
	if e.Policy == nil {
		return nil, nil, nil
	}
	p, err := e.Policy.At(e.Now)
	return p, &e.Policy.Seq, err
}

// claimsOf is what a bundle that may be recorded says, vouched for or not; nil of an invalid one.
func claimsOf(r air.Result) *air.Claims {
	if receipt, ok := r.ProviderReceipt(); ok {
		c := receipt.Claims()
		return &c
	}
	if receipt, ok := r.UnverifiedReceipt(); ok {
		c := receipt.Claims()
		return &c
	}
	return nil
}

// UnreadableBundle names what makes the bytes no JSON that could be judged. Where the strict parser finds nothing, it is the
// profile's own demand: one object, nested no deeper than it needs.
func UnreadableBundle(s Submission, r air.Result) error {
	if r.Errors[0].Rule == air.R002 {
		return &TooLargeError{Limit: air.MaxBundleBytes}
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Open)
	d.Skip()
	if err := finish(d, s.ArtifactAt); err != nil {
		return err
	}
	return &strictjson.Error{Pointer: s.ArtifactAt, Rule: strictjson.RuleType, Detail: r.Errors[0].Message}
}

func invalidBundle(s Submission, r air.Result) error {
	causes := make([]Cause, 0, len(r.Errors))
	for _, f := range r.Errors {
		causes = append(causes, Cause{Rule: string(f.Rule), Pointer: s.ArtifactAt + f.Path, Detail: f.Message})
	}
	return &Rejection{
		Code: "receipt-invalid", Pointer: s.ArtifactAt, Causes: causes,
		Detail: "the bundle breaks rules of the AI Interaction Receipt profile; nothing was recorded",
	}
}

// RecordedBundle is a bundle as it was recorded: what was posted, and what the server said about it.
type RecordedBundle struct {
	Seq        int64
	RecordedAt time.Time
	Bundle     []byte // canonical
	RequestID  *string
	Receiver   BundleReceiver
}

// ReadBundle reads a recorded bundle from its entry. *ErasedError once its content is gone, ErrStored when it is none.
func ReadBundle(e ledger.Entry) (*RecordedBundle, error) {
	if e.Erased() {
		return nil, ErasedEntry(e)
	}
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return nil, Unreadable(e.Seq, err)
	}
	b, err := ReadBundleContent(e.Seq, c)
	if err != nil {
		return nil, err
	}
	b.RecordedAt = e.RecordedAt
	return b, nil
}

// ReadBundleContent is ReadBundle for a content that is at hand; RecordedAt stays zero.
func ReadBundleContent(seq int64, c ledger.Content) (*RecordedBundle, error) {
	b := &RecordedBundle{Seq: seq, Bundle: c.Artifact}
	var err error
	if b.RequestID, err = parseBundleContext(Submission{Context: c.Context}); err != nil {
		return nil, Unreadable(seq, err)
	}
	if err := json.Unmarshal(c.Receiver, &b.Receiver); err != nil {
		return nil, Unreadable(seq, err)
	}
	return b, nil
}

// BundleQuery selects recorded bundles by what their receipts say; nil selects all. From and To are instants of the
// exchange, half-open.
type BundleQuery struct {
	ReceiptID, ReceiptDigest, RequestDigest, ResponseDigest, EndpointHost, ModelID, RetentionClass, Provider, WitnessMode, Status, RequestID *string

	From, To *time.Time
	After    int64 // seq of the last entry seen, -1 to begin
	Size     int64 // entries from this seq on are left out
	Limit    int
	Bytes    int64 // contents of a page, as of EntryQuery
}
