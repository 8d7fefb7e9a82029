package kinds

import (
	"github.com/go-json-experiment/json"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// Reverification records what verifying an entry again found: that the self-audit met a failure, or that it is gone; or how
// a dispute stands now. Only the server appends it. It holds checks, codes and fixed texts, and no value of the entry.
var Reverification = Kind{
	Name:     "reverification",
	Core:     "it names an entry recorded before it, and what was found",
	ReadBy:   []Role{Billing, Operator},
	MaxBytes: 64 << 10,
	Tables:   []*Table{&reverificationRows},
	check:    checkReverification,
	project:  projectReverification,
	refers:   referencesOfReverification,
}

var reverificationRows = Table{Name: "reverifications", Columns: []Column{{Name: "of_seq"}, {Name: "cause"}, {Name: "result"}, {Name: "digest"}}}

// The causes of a reverification.
const (
	CauseSelfAudit = "self-audit"
	CauseDispute   = "dispute"
)

// ReverificationArtifact is what was found.
type ReverificationArtifact struct {
	OfSeq   int64          `json:"of_seq" jsonschema:"the entry that was verified again"`
	Cause   string         `json:"cause" jsonschema:"self-audit or dispute"`
	After   *int64         `json:"after" jsonschema:"the reverification of the same entry and cause before, null for the first"`
	Result  string         `json:"result" jsonschema:"of the self-audit passed or failed; of a dispute upheld, explained or inconclusive"`
	Digest  string         `json:"digest" jsonschema:"of all that was found: the same again is not recorded twice by the self-audit"`
	Failed  []FailedCheck  `json:"failed" jsonschema:"the checks that failed"`
	Changed []string       `json:"changed" jsonschema:"what differs from before"`
	Against VerifiedTree   `json:"against"`
	Levels  []DisputeLevel `json:"levels" jsonschema:"of a dispute: the totals now"`
}

// FailedCheck is a check of an entry that failed.
type FailedCheck struct {
	Check  string `json:"check"`
	Fault  string `json:"fault"`
	Reason string `json:"reason"`
}

// VerifiedTree is the tree that something was verified in.
type VerifiedTree struct {
	Origin   string `json:"origin"`
	TreeSize int64  `json:"tree_size"`
	RootHash string `json:"root_hash" jsonschema:"standard base64"`
}

// maxFailedChecks bounds what one reverification lists.
const maxFailedChecks = 32

// NewReverification makes an entry of what was found, under a key of its own.
func NewReverification(key string, a ReverificationArtifact) (*Accepted, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return Reverification.Accept(Submission{Artifact: raw, Key: key}, Env{})
}

func checkReverification(s Submission, _ Env) (*Accepted, error) {
	if err := CheckKey("", s.Key); err != nil {
		return nil, err
	}
	a, err := readReverification(s)
	if err != nil {
		return nil, err
	}
	return accepted(s, nil, reverificationRowsOf(a))
}

func projectReverification(c ledger.Content) (Projection, error) {
	a, err := readReverification(recorded(c))
	return Projection{Rows: reverificationRowsOf(a)}, err
}

func reverificationRowsOf(a ReverificationArtifact) []Rows {
	return []Rows{{Table: &reverificationRows, Values: [][]any{{a.OfSeq, a.Cause, a.Result, a.Digest}}}}
}

func readReverification(s Submission) (ReverificationArtifact, error) {
	var a ReverificationArtifact
	if err := noContext(s); err != nil {
		return a, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	d.Object(
		strictjson.Req("of_seq", func() { a.OfSeq = decodeSeq(d) }),
		strictjson.Req("cause", func() { a.Cause = oneOf(d, CauseSelfAudit, CauseDispute) }),
		strictjson.Req("after", func() { a.After = decodeOptSeq(d) }),
		strictjson.Req("result", func() { a.Result = d.String() }),
		strictjson.Req("digest", func() { a.Digest = d.String() }),
		strictjson.Req("failed", func() { a.Failed = decodeFailed(d) }),
		strictjson.Req("changed", func() { a.Changed = decodeTexts(d) }),
		strictjson.Req("against", func() { a.Against = decodeTree(d) }),
		strictjson.Req("levels", func() { a.Levels = decodeLevels(d) }),
	)
	if err := finish(d, s.ArtifactAt); err != nil {
		return a, err
	}
	b := bounds{}
	b.name(s.ArtifactAt+"/result", a.Result)
	b.name(s.ArtifactAt+"/digest", a.Digest)
	return a, b.err
}

// referencesOfReverification is what was verified again, and what was found of it before.
func referencesOfReverification(c ledger.Content) ([]Reference, error) {
	a, err := readReverification(recorded(c))
	list := []Reference{{Relation: "of", Seq: a.OfSeq}}
	if a.After != nil {
		list = append(list, Reference{Relation: "after", Seq: *a.After})
	}
	return list, err
}

// ReadReverification reads a recorded reverification from its entry.
func ReadReverification(e ledger.Entry) (ReverificationArtifact, error) {
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return ReverificationArtifact{}, Unreadable(e.Seq, err)
	}
	a, err := readReverification(recorded(c))
	return a, Unreadable(e.Seq, err)
}

func decodeFailed(d *strictjson.Decoder) []FailedCheck {
	list := []FailedCheck{}
	d.Array(func(i int) {
		if i >= maxFailedChecks {
			d.Fail(strictjson.RuleRange, "more failed checks than an entry has")
		}
		var c FailedCheck
		d.Object(
			strictjson.Req("check", func() { c.Check = d.String() }),
			strictjson.Req("fault", func() { c.Fault = d.String() }),
			strictjson.Req("reason", func() { c.Reason = d.String() }),
		)
		list = append(list, c)
	})
	return list
}

func decodeTree(d *strictjson.Decoder) VerifiedTree {
	var t VerifiedTree
	d.Object(
		strictjson.Req("origin", func() { t.Origin = d.String() }),
		strictjson.Req("tree_size", func() { t.TreeSize = decodeSeq(d) }),
		strictjson.Req("root_hash", func() { t.RootHash = d.String() }),
	)
	return t
}

// decodeSeq reads a count or a place in the log.
func decodeSeq(d *strictjson.Decoder) int64 { return int64(d.Uint64() & strictjson.MaxInteger) }

func decodeOptSeq(d *strictjson.Decoder) *int64 {
	if d.Null() {
		return nil
	}
	seq := decodeSeq(d)
	return &seq
}

func decodeTexts(d *strictjson.Decoder) []string {
	list := []string{}
	d.Array(func(int) { list = append(list, d.String()) })
	return list
}

// oneOf reads one of some words.
func oneOf(d *strictjson.Decoder, words ...string) string {
	s := d.String()
	if !d.Failed() && !contains(words, s) {
		d.Fail(strictjson.RuleValue, "it is none of the known words")
	}
	return s
}
