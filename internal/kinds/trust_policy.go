package kinds

import (
	"bytes"
	"strconv"
	"time"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/receipts/air"
)

// TrustPolicyKind is a tenant's trust policy: whose keys it relies on and who vouched for them. It is never edited; each
// revision is an entry. The key is the revision number.
var TrustPolicyKind = Kind{
	Name:       "trust-policy",
	Core:       "the policy is well-formed, each pin a key reference",
	PostedBy:   []Role{Admin},
	ReadBy:     []Role{Admin},
	MaxBytes:   256 << 10,
	UsesPolicy: true,
	check:      checkTrustPolicy,
	project:    projectTrustPolicy,
}

// maxPins bounds a policy; each pin is looked up per proof.
const maxPins = 1024

// TrustPolicyArtifact is the shape of a policy:
//
//	{"pins":[{"key_ref","comment","vouched_by"}],"max_future_skew_seconds":0,"issuer_operator":"…"?}
type TrustPolicyArtifact struct {
	Pins                 []Pin   `json:"pins"`
	MaxFutureSkewSeconds uint32  `json:"max_future_skew_seconds"`
	IssuerOperator       *string `json:"issuer_operator,omitzero"`
}

// Pin is one key that the tenant relies on.
type Pin struct {
	KeyRef    string `json:"key_ref"`
	Comment   string `json:"comment"`
	VouchedBy string `json:"vouched_by"`
}

func checkTrustPolicy(s Submission, env Env) (*Accepted, error) {
	artifact, err := readTrustPolicy(s)
	if err != nil {
		return nil, err
	}
	policy := TrustPolicy{Fields: artifact.fields()}
	if _, err := policy.At(env.Now); err != nil {
		return nil, &Rejection{Code: "trust-policy-refused", Pointer: s.ArtifactAt, Detail: "a key reference, the skew (0 to 86400) or the issuer operator is malformed (AIR-V1-R120)"}
	}
	content, err := canonical(s, withFindings(nil))
	if err != nil {
		return nil, err
	}
	return &Accepted{Key: env.nextPolicy(content.Artifact), Content: content}, nil
}

// projectTrustPolicy derives no key: a revision counts the entries before it.
func projectTrustPolicy(c ledger.Content) (Projection, error) {
	_, err := readTrustPolicy(recorded(c))
	return Projection{}, err
}

func readTrustPolicy(s Submission) (TrustPolicyArtifact, error) {
	if err := noContext(s); err != nil {
		return TrustPolicyArtifact{}, err
	}
	a, err := parseTrustPolicy(s)
	if err != nil {
		return a, err
	}
	return a, boundPolicy(a, s.ArtifactAt)
}

// nextPolicy is the key of this artifact as a revision of the policy.
func (e Env) nextPolicy(artifact []byte) string {
	if e.Policy == nil {
		return nextRevision(0, nil, artifact)
	}
	return nextRevision(e.Policy.Revision, e.Policy.Artifact, artifact)
}

// nextRevision is the number of an artifact as a revision, after one that is in force (0 and nil for none): the current
// one when nothing changes, so that a repeated PUT is a replay, else the next. Two different artifacts set at once claim one
// number, and the second is refused.
func nextRevision(current int64, inForce, artifact []byte) string {
	if current == 0 || !bytes.Equal(inForce, artifact) {
		current++
	}
	return strconv.FormatInt(current, 10)
}

func parseTrustPolicy(s Submission) (TrustPolicyArtifact, error) {
	var a TrustPolicyArtifact
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	d.Object(
		strictjson.Req("pins", func() {
			d.Array(func(i int) {
				if i >= maxPins {
					d.Fail(strictjson.RuleRange, "a policy has at most 1024 pins")
				}
				a.Pins = append(a.Pins, parsePin(d))
			})
		}),
		strictjson.Req("max_future_skew_seconds", func() { a.MaxFutureSkewSeconds = d.Uint32() }),
		strictjson.Opt("issuer_operator", func() { a.IssuerOperator = d.OptString() }),
	)
	return a, finish(d, s.ArtifactAt)
}

func parsePin(d *strictjson.Decoder) Pin {
	var p Pin
	d.Object(
		strictjson.Req("key_ref", func() { p.KeyRef = d.String() }),
		strictjson.Req("comment", func() { p.Comment = d.String() }),
		strictjson.Req("vouched_by", func() { p.VouchedBy = d.String() }),
	)
	return p
}

func boundPolicy(a TrustPolicyArtifact, base string) error {
	b := bounds{}
	for i, p := range a.Pins {
		pin := base + "/pins/" + strconv.Itoa(i)
		b.id(pin+"/comment", p.Comment)
		b.name(pin+"/vouched_by", p.VouchedBy)
	}
	if a.IssuerOperator != nil {
		b.name(base+"/issuer_operator", *a.IssuerOperator)
	}
	return b.err
}

func (a TrustPolicyArtifact) fields() air.PolicyFields {
	f := air.PolicyFields{MaxFutureSkewSeconds: int(a.MaxFutureSkewSeconds)}
	if a.IssuerOperator != nil {
		f.IssuerOperator = *a.IssuerOperator
	}
	for _, pin := range a.Pins {
		f.TrustedKeyRefs = append(f.TrustedKeyRefs, pin.KeyRef)
	}
	return f
}

// At is the policy as the verifier takes it, to judge at now (cut to whole seconds). It fails only for a policy that was
// never checked.
func (t *TrustPolicy) At(now time.Time) (*air.Policy, error) {
	f := t.Fields
	f.VerifiedAt = now.UTC().Truncate(time.Second)
	return air.NewPolicy(f)
}

// ReadTrustPolicy reads a recorded policy from its entry. ErrStored when it is none.
func ReadTrustPolicy(e ledger.Entry) (*TrustPolicy, error) {
	t, err := readStoredPolicy(e)
	return t, Unreadable(e.Seq, err)
}

func readStoredPolicy(e ledger.Entry) (*TrustPolicy, error) {
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return nil, err
	}
	revision, err := strconv.ParseInt(e.Meta.Key, 10, 64)
	if err != nil {
		return nil, err
	}
	a, err := parseTrustPolicy(Submission{Artifact: c.Artifact})
	if err != nil {
		return nil, err
	}
	return &TrustPolicy{Seq: e.Seq, Revision: revision, RecordedAt: e.RecordedAt, Fields: a.fields(), Artifact: c.Artifact}, nil
}
