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
	Core:     "it names entries in order, each once, and a reason",
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
	return &Accepted{Key: s.Key, Content: content, Erases: a.Seqs}, nil
}

// ParseErasure reads an erasure.
func ParseErasure(s Submission) (ErasureArtifact, error) {
	var a ErasureArtifact
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	d.Object(
		strictjson.Req("reason", func() { a.Reason = d.String() }),
		strictjson.Req("seqs", func() { a.Seqs = DecodeSeqs(d) }),
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

// ReadErasure reads a recorded erasure from its entry.
func ReadErasure(e ledger.Entry) (ErasureArtifact, error) {
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return ErasureArtifact{}, err
	}
	return ParseErasure(recorded(c))
}

// DecodeSeqs reads what an erasure names: at most MaxErasure seqs, ascending, each once.
func DecodeSeqs(d *strictjson.Decoder) []int64 {
	seqs := []int64{}
	d.Array(func(i int) {
		seq := d.Uint64()
		switch {
		case i >= MaxErasure:
			d.Fail(strictjson.RuleRange, "an erasure names at most 10000 entries")
		case seq > strictjson.MaxInteger: // no log has it, and a conversion must not turn it into one that the log has
			d.Fail(strictjson.RuleRepresentable, "RFC 8785 carries integers up to 2^53-1 only")
		case i > 0 && !d.Failed() && int64(seq) <= seqs[i-1]:
			d.Fail(strictjson.RuleValue, "seqs ascend, each once")
		default:
			seqs = append(seqs, int64(seq))
		}
	})
	return seqs
}

// CheckErasure refuses an erasure by what it names, whatever way it came: entries that are not there, or that are of kinds
// which can't be erased. targets are those of its seqs that its tenant has.
func CheckErasure(a ErasureArtifact, targets []ErasureTarget) error {
	if len(targets) < len(a.Seqs) {
		return ErrNotFound
	}
	for _, t := range targets {
		if k := Lookup(t.Kind); k == nil || !k.Erasable() {
			return &Rejection{Code: "not-erasable", Detail: "only entries of kinds that hosts post can be erased, and one is of another"}
		}
	}
	return nil
}

// Erasable says whether an erasure may name entries of the kind: those that hosts post, and those that keep something personal.
// What the tenant's administration recorded is not personal, and the log depends on it; what was billed are the tenant's books.
func (k *Kind) Erasable() bool { return contains(k.PostedBy, Host) || k.KeepsPersonal }

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
