package audit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
)

// FindingKind is what only a ledger can see: it takes several entries, or an entry and its time.
type FindingKind string

// The kinds of findings. The evidence of D1Conflict is indirect: a ledger holds no content, but a provider that calls a
// frame changed and gives the very digest that was asked about has two contents under one identity (context-reuse D1).
const (
	FindingD1Conflict   FindingKind = "d1-conflict"
	FindingCostDrift    FindingKind = "cost-drift"         // one identity was served at another cost than the time before
	FindingUsageMissing FindingKind = "usage-missing"      // a recorded exchange names a request that has no usage report (UR1)
	FindingAsOfFar      FindingKind = "as-of-far"          // as_of is further than MaxAsOfLag from when the report was recorded
	FindingRubberStamp  FindingKind = "rubber-stamp"       // a provider called a digest valid after it had served another for the frame (V1)
	FindingStaleReuse   FindingKind = "stale-reuse"        // a frame was served again after it was called stale or gone (V2)
	FindingUnconsented  FindingKind = "unconsented-egress" // content left, and no consent is known to have been in force and on record at that instant
)

// FindingKinds lists every kind, in the order of the documentation.
var FindingKinds = [...]FindingKind{
	FindingD1Conflict, FindingCostDrift, FindingUsageMissing, FindingAsOfFar, FindingRubberStamp, FindingStaleReuse, FindingUnconsented,
}

// MaxAsOfLag is how far as_of may be from the time of recording before it is a finding. Hosts post within minutes, or after
// an outage within hours.
const MaxAsOfLag = 24 * time.Hour

// maxFindingSeqs bounds the evidence that is listed for one finding; More counts the rest.
const maxFindingSeqs = 64

// FindingQuery asks for findings about a period of effective time, half-open. Empty values select all.
type FindingQuery struct {
	Kind       FindingKind
	ProviderID string
	From, To   time.Time
	Size       int64 // entries from this seq on are left out
}

// FrameVerdict is the recorded result of verifying one held frame: kinds.VerdictValid, or why it was dropped.
type FrameVerdict struct {
	Seq         int64
	VerifiedAt  time.Time
	Frame       frames.FrameID
	Result      string
	Replacement frames.Digest
}

// Wants says whether findings of one of the kinds are asked for. What no asked kind needs is not read.
func (q FindingQuery) Wants(of ...FindingKind) bool {
	return q.Kind == "" || slices.Contains(of, q.Kind)
}

// WantsUsage says whether the usage of the period is needed.
func (q FindingQuery) WantsUsage() bool {
	return q.Wants(FindingCostDrift, FindingAsOfFar, FindingRubberStamp, FindingStaleReuse, FindingUnconsented)
}

// WantsVerdicts says whether verdicts are needed.
func (q FindingQuery) WantsVerdicts() bool {
	return q.Wants(FindingD1Conflict, FindingRubberStamp, FindingStaleReuse)
}

// WantsBefore says whether what was served before the period is needed.
func (q FindingQuery) WantsBefore() bool { return q.Wants(FindingCostDrift, FindingRubberStamp) }

// Kinds are the kinds that an answer tells about. A receipt names no provider of frames, so usage-missing can't be told of
// one provider.
func (q FindingQuery) Kinds() []FindingKind {
	var list []FindingKind
	for _, kind := range FindingKinds {
		if q.Wants(kind) && (q.ProviderID == "" || kind != FindingUsageMissing) {
			list = append(list, kind)
		}
	}
	return list
}

// FindingEvidence is what findings are computed from. What FindingQuery.Wants does not ask for may be left out.
type FindingEvidence struct {
	Evidence
	Before   []UsageLine    // the newest usage before the period, as far back as the reader goes
	Verdicts []FrameVerdict // of the period, and before it the last one on each identity that was served in it; by VerifiedAt, then seq
	Missing  []Exchange     // of the period, whose request has no usage report
}

// LedgerFinding is one finding with the entries that show it.
type LedgerFinding struct {
	Kind       FindingKind     `json:"kind"`
	ProviderID string          `json:"provider_id" jsonschema:"empty where it is about no provider of frames"`
	Frame      *frames.FrameID `json:"frame" jsonschema:"null where it is about no frame"`
	RequestID  string          `json:"request_id,omitzero" jsonschema:"of usage-missing"`
	Scope      string          `json:"scope,omitzero" jsonschema:"of unconsented-egress"`
	Verdict    Verdict         `json:"verdict,omitzero" jsonschema:"of unconsented-egress"`
	FirstAt    time.Time       `json:"first_at" jsonschema:"effective time of the first occurrence"`
	LastAt     time.Time       `json:"last_at"`
	Times      int             `json:"times"`
	Seqs       []int64         `json:"seqs" jsonschema:"the entries that show it"`
	More       int             `json:"more_seqs,omitzero" jsonschema:"entries beyond those listed"`
}

// Findings computes what a ledger's entries show together. It is pure; findings of one kind about one thing are one, with
// all occurrences counted. They are ordered by kind, provider, frame and scope. The error is the context's.
func Findings(ctx context.Context, e FindingEvidence, q FindingQuery) ([]LedgerFinding, error) {
	f := finder{query: q, found: map[subject]*tally{}}
	f.usage(e)
	f.verdicts(e)
	for _, x := range e.Missing {
		f.add(subject{kind: FindingUsageMissing, request: x.RequestID}, x.ExchangedAt, x.Seq)
	}
	if q.Wants(FindingUnconsented) {
		if err := f.unconsented(ctx, e.Evidence); err != nil {
			return nil, err
		}
	}
	return f.list(), ctx.Err()
}

// subject is what makes occurrences one finding.
type subject struct {
	kind     FindingKind
	provider string
	frame    frames.FrameID
	isFrame  bool
	scope    string
	verdict  Verdict
	request  string
}

type finder struct {
	query FindingQuery
	found map[subject]*tally
}

// tally is a finding in the making, and the entries that it has counted.
type tally struct {
	LedgerFinding
	seen map[int64]bool
}

// add notes an occurrence at an effective time, shown by entries. The first of them is what is found, so it stands first;
// the rest is what it was judged by.
func (f *finder) add(s subject, at time.Time, seqs ...int64) {
	if !f.query.Wants(s.kind) || (f.query.ProviderID != "" && s.provider != f.query.ProviderID) {
		return
	}
	x := f.found[s]
	if x == nil {
		x = &tally{seen: map[int64]bool{}, LedgerFinding: LedgerFinding{
			Kind: s.kind, ProviderID: s.provider, RequestID: s.request, Scope: s.scope, Verdict: s.verdict, FirstAt: at, LastAt: at, Seqs: []int64{},
		}}
		if s.isFrame {
			x.Frame = &s.frame
		}
		f.found[s] = x
	}
	x.Times++
	x.FirstAt, x.LastAt = earlier(x.FirstAt, at), later(x.LastAt, at)
	for _, seq := range seqs {
		x.show(seq)
	}
}

func (x *tally) show(seq int64) {
	if x.seen[seq] {
		return
	}
	x.seen[seq] = true
	if len(x.Seqs) < maxFindingSeqs {
		x.Seqs = append(x.Seqs, seq)
	} else {
		x.More++
	}
}

func frameSubject(kind FindingKind, id frames.FrameID) subject {
	return subject{kind: kind, provider: id.ProviderID, frame: id, isFrame: true}
}

func (f *finder) list() []LedgerFinding {
	list := make([]LedgerFinding, 0, len(f.found))
	for _, x := range f.found {
		slices.Sort(x.Seqs)
		list = append(list, x.LedgerFinding)
	}
	slices.SortFunc(list, func(a, b LedgerFinding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ProviderID, b.ProviderID), compareFrames(a.Frame, b.Frame),
			cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Verdict, b.Verdict), a.FirstAt.Compare(b.FirstAt), slices.Compare(a.Seqs, b.Seqs))
	})
	return list
}

func compareFrames(a, b *frames.FrameID) int {
	if a == nil || b == nil {
		return 0
	}
	return frames.Compare(*a, *b)
}

func isStaleOrGone(result string) bool {
	return result == string(frames.DropStale) || result == string(frames.DropGone)
}

func isValid(result string) bool { return result == kinds.VerdictValid }
