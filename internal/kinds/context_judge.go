package kinds

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/assembly"
	"ledgerd/frames"
	"ledgerd/ledger"
)

// joined is a context record that is judged together with other entries.
type joined interface {
	of(Submission) bool // it was read from this very one
	needs() ContextNeeds
	judge(p *ContextParts, shown []assembly.Presented) (assembly.Report, error)
	projection(assembly.Verdict) Projection
}

// Needs names what of the ledger's Accept takes by Env.Context; nil for nothing. Accept takes it too. Its errors are Accept's.
func (k *Kind) Needs(s Submission) (*ContextNeeds, error) {
	if k.joins == nil {
		return nil, nil
	}
	if len(s.Artifact) > k.MaxBytes {
		return nil, &TooLargeError{Limit: int64(k.MaxBytes)}
	}
	record, err := k.joins(s)
	if err != nil {
		return nil, err
	}
	needs := record.needs()
	needs.read = record
	return &needs, nil
}

// Judge is the verdict on a recorded context record with the parts given, as Accept records it: the same parts give the same
// one. Payloads that are shown are checked and kept nowhere.
func (r *RecordedContext) Judge(p *ContextParts, shown ...assembly.Presented) (assembly.Report, error) {
	return r.record.judge(p, shown)
}

// of says whether two submissions are the same bytes in the same place.
func (s Submission) of(other Submission) bool {
	same := func(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
	return same(s.Artifact, other.Artifact) && same(s.Context, other.Context) && s.ArtifactAt == other.ArtifactAt && s.ContextAt == other.ContextAt
}

// Projection is what Kind.Project derives: it follows from the recorded verdict.
func (r *RecordedContext) Projection() Projection {
	return r.record.projection(r.Receiver.Verdict.Verdict)
}

// Needs names what the record would be judged with if it came now.
func (r *RecordedContext) Needs() ContextNeeds { return r.record.needs() }

// Row is a recorded assembly, nil for the other kinds.
func (r *RecordedContext) Row() *assembly.Row {
	if a, ok := r.record.(*assemblyRecord); ok {
		return a.row
	}
	return nil
}

// Answers says whether a report is what the recorded verdict and its findings say.
func (r *RecordedContext) Answers(report assembly.Report) bool {
	return r.Receiver.Verdict.Same(VerdictOf(report)) && slices.Equal(r.Receiver.Findings, brokenRules(report))
}

// maxStoredFindings bounds what a verdict stores; re-verification shows the rest.
const maxStoredFindings = 200

// ContextVerdict is a verdict as it is recorded. What it does not prove, its coverage, is the same for any record that
// reached the same stage, and is shown by re-verification.
type ContextVerdict struct {
	Model    string             `json:"model" jsonschema:"version of the verification model: another one may judge otherwise"`
	Verdict  assembly.Verdict   `json:"verdict"`
	Dictated *assembly.Dictated `json:"dictated" jsonschema:"the outcome that the contract dictates, null where it can't be derived"`
	Findings []assembly.Finding `json:"findings"`
	More     int                `json:"more_findings,omitzero" jsonschema:"findings beyond those listed"`
	Missing  []string           `json:"missing"`
}

// VerdictOf is the part of a report that is recorded.
func VerdictOf(r assembly.Report) ContextVerdict {
	v := ContextVerdict{Model: assembly.Model, Verdict: r.Verdict, Dictated: r.Dictated, Findings: r.Findings, Missing: r.Missing}
	if n := len(v.Findings); n > maxStoredFindings {
		v.Findings, v.More = v.Findings[:maxStoredFindings], n-maxStoredFindings
	}
	if n := len(v.Missing); n > maxStoredFindings {
		v.Missing = v.Missing[:maxStoredFindings]
	}
	return v
}

// ContextReceiver is what the server records about a context record that it judged.
type ContextReceiver struct {
	Findings []frames.Finding `json:"findings"`
	Joined   ContextJoined    `json:"joined"`
	Verdict  ContextVerdict   `json:"verdict"`
}

func checkJoined(read func(Submission) (joined, error)) func(Submission, Env) (*Accepted, error) {
	return func(s Submission, env Env) (*Accepted, error) {
		if env.Needs == nil || env.Context == nil {
			return nil, errors.New("the check takes Env.Needs and Env.Context, see Needs")
		}
		record, err := env.Needs.read, error(nil)
		if record == nil || !record.of(s) {
			record, err = read(s)
		}
		if err != nil {
			return nil, err
		}
		report, err := record.judge(env.Context, nil)
		if err != nil {
			return nil, err
		}
		findings := brokenRules(report)
		content, err := canonical(s, ContextReceiver{Findings: findings, Joined: env.Context.Joined(), Verdict: VerdictOf(report)})
		if err != nil {
			return nil, err
		}
		p := record.projection(report.Verdict)
		return &Accepted{Key: p.Key, Content: content, Findings: findings, Rows: p.Rows}, nil
	}
}

// projectJoined takes the verdict as it was recorded: it was reached with other entries, which the content names. Reaching it
// again is re-verification.
func projectJoined(read func(Submission) (joined, error)) func(ledger.Content) (Projection, error) {
	return func(c ledger.Content) (Projection, error) {
		record, err := read(recorded(c))
		if err != nil {
			return Projection{}, err
		}
		var receiver ContextReceiver
		if err := json.Unmarshal(c.Receiver, &receiver); err != nil {
			return Projection{}, fmt.Errorf("reading the recorded verdict: %w", err)
		}
		return record.projection(receiver.Verdict.Verdict), nil
	}
}

// brokenRules are the findings of a report in the form of every other kind: one for each rule, at its first place.
func brokenRules(r assembly.Report) []frames.Finding {
	list := []frames.Finding{}
	for _, f := range r.Findings {
		if n := len(list); n > 0 && list[n-1].Code == frames.Code(f.Rule) {
			list[n-1].More++
			continue
		}
		list = append(list, frames.Finding{Code: frames.Code(f.Rule), Pointer: f.At, Document: "context-strategy C0"})
	}
	return list
}

// RecordedContext is a judged context record as it was recorded.
type RecordedContext struct {
	Seq        int64
	RecordedAt time.Time
	Kind       *Kind
	Submission Submission
	Receiver   ContextReceiver

	record joined
}

// ReadContext reads a recorded assembly, compaction or recovery from its entry. *ErasedError once its content is gone,
// ErrNotFound for an entry of another kind, ErrStored for one that can't be read.
func ReadContext(e ledger.Entry) (*RecordedContext, error) {
	kind := Lookup(e.Meta.Kind)
	if kind == nil || !kind.IsJudged() {
		return nil, ErrNotFound
	}
	if e.Erased() {
		return nil, ErasedEntry(e)
	}
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return nil, Unreadable(e.Seq, err)
	}
	r, err := ReadContextContent(e.Seq, kind, c)
	if err != nil {
		return nil, err
	}
	r.RecordedAt = e.RecordedAt
	return r, nil
}

// ReadContextContent is ReadContext for a content that is at hand, of a kind that IsJudged; RecordedAt stays zero.
func ReadContextContent(seq int64, kind *Kind, c ledger.Content) (*RecordedContext, error) {
	r := &RecordedContext{Seq: seq, Kind: kind, Submission: recorded(c)}
	if err := json.Unmarshal(c.Receiver, &r.Receiver); err != nil {
		return nil, Unreadable(seq, err)
	}
	var err error
	if r.record, err = kind.joins(r.Submission); err != nil { // else to judge it again would fail as if it were being posted
		return nil, Unreadable(seq, err)
	}
	return r, nil
}

// IsJudged says that its entries are judged together with others, see Needs.
func (k *Kind) IsJudged() bool { return k.joins != nil }

// Same says whether two verdicts say the same.
func (v ContextVerdict) Same(other ContextVerdict) bool {
	a, errA := json.Marshal(v)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
