package kinds

import (
	"time"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// Erasure destroys the contents of other entries of its tenant: the entry is appended and the contents are destroyed in
// one transaction. It names entries and a reason, and never what was in them.
var Erasure = Kind{
	Name:     "erasure",
	PostedBy: []Role{Admin},
	ReadBy:   []Role{Admin},
	MaxBytes: 256 << 10,
	Erases:   true,
	check:    checkErasure,
	project:  projectErasure,
}

// MaxErasure is the number of entries that one erasure may name.
const MaxErasure = 10_000

// ErasureArtifact is the shape of an erasure: seqs in ascending order, each once.
type ErasureArtifact struct {
	Reason string  `json:"reason" jsonschema:"why, for the auditors to come; it must not hold what is to be erased"`
	Seqs   []int64 `json:"seqs"`
}

func checkErasure(s Submission, _ Env) (*Accepted, error) {
	if err := noContext(s); err != nil {
		return nil, err
	}
	a, err := ParseErasure(s)
	if err != nil {
		return nil, err
	}
	b := bounds{}
	b.name(s.ArtifactAt+"/reason", a.Reason)
	if b.err != nil {
		return nil, b.err
	}
	content, err := canonical(s, withFindings(nil))
	if err != nil {
		return nil, err
	}
	return &Accepted{Key: s.Key, Content: content}, nil
}

// ParseErasure reads an erasure.
func ParseErasure(s Submission) (ErasureArtifact, error) {
	var a ErasureArtifact
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	d.Object(
		strictjson.Req("reason", func() { a.Reason = d.String() }),
		strictjson.Req("seqs", func() {
			d.Array(func(i int) {
				seq := int64(d.Uint64() & (1<<63 - 1))
				switch {
				case i >= MaxErasure:
					d.Fail(strictjson.RuleRange, "an erasure names at most 10000 entries")
				case i > 0 && seq <= a.Seqs[i-1]:
					d.Fail(strictjson.RuleValue, "seqs ascend, each once")
				}
				a.Seqs = append(a.Seqs, seq)
			})
		}),
	)
	if err := finish(d, s.ArtifactAt); err != nil {
		return a, err
	}
	if len(a.Seqs) == 0 {
		return a, &Rejection{Code: "nothing-to-erase", Pointer: s.ArtifactAt + "/seqs", Detail: "it names no entry"}
	}
	return a, nil
}

func projectErasure(c ledger.Content) (Projection, error) {
	_, err := ParseErasure(recorded(c))
	return Projection{}, err
}

// Erasable says whether an erasure may name entries of the kind: those that hosts post, and those that keep what hosts posted.
// What the tenant's administration recorded is not personal, and the log depends on it.
func (k *Kind) Erasable() bool { return contains(k.PostedBy, Host) || k.Name == "conflict" }

// ErasureFilter selects entries to erase by what their artifacts say; every condition that is given must hold, so that only
// entries of kinds that know all of them are found. From and To are effective times, half-open.
type ErasureFilter struct {
	GrantorID  string
	CustomerID string
	ProviderID string
	From, To   *time.Time
}

// ErasureTarget is an entry that an erasure would name.
type ErasureTarget struct {
	Seq    int64
	Kind   string
	Erased bool // already
}
