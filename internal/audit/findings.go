package audit

import (
	"cmp"
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
	FindingCostDrift    FindingKind = "cost-drift"         // one identity was served at two costs
	FindingUsageMissing FindingKind = "usage-missing"      // a recorded exchange names a request that has no usage report (UR1)
	FindingAsOfFar      FindingKind = "as-of-far"          // as_of is further than MaxAsOfLag from when the report was recorded
	FindingRubberStamp  FindingKind = "rubber-stamp"       // a provider called a digest valid after it had served another for the frame (V1)
	FindingStaleReuse   FindingKind = "stale-reuse"        // a frame was served again after it was called stale or gone (V2)
	FindingUnconsented  FindingKind = "unconsented-egress" // content left, and no consent was in force and on record at that instant
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

// FindingEvidence is what findings are computed from.
type FindingEvidence struct {
	Evidence
	Verdicts []FrameVerdict // up to the end of the period, in order of VerifiedAt, then seq
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
// all occurrences counted. They are ordered by kind, provider, frame and scope.
func Findings(e FindingEvidence, q FindingQuery) []LedgerFinding {
	f := finder{query: q, found: map[subject]*LedgerFinding{}}
	f.usage(e)
	f.verdicts(e)
	for _, x := range e.Missing {
		f.add(subject{kind: FindingUsageMissing, request: x.RequestID}, x.ExchangedAt, x.Seq)
	}
	f.unconsented(e.Evidence)
	return f.list()
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
	found map[subject]*LedgerFinding
}

// add notes an occurrence at an effective time, shown by entries.
func (f *finder) add(s subject, at time.Time, seqs ...int64) {
	if (f.query.Kind != "" && s.kind != f.query.Kind) || (f.query.ProviderID != "" && s.provider != f.query.ProviderID) {
		return
	}
	x := f.found[s]
	if x == nil {
		x = &LedgerFinding{Kind: s.kind, ProviderID: s.provider, RequestID: s.request, Scope: s.scope, Verdict: s.verdict, FirstAt: at, LastAt: at, Seqs: []int64{}}
		if s.isFrame {
			x.Frame = &s.frame
		}
		f.found[s] = x
	}
	x.Times++
	x.FirstAt, x.LastAt = earlier(x.FirstAt, at), later(x.LastAt, at)
	for _, seq := range seqs {
		switch {
		case slices.Contains(x.Seqs, seq):
		case len(x.Seqs) < maxFindingSeqs:
			x.Seqs = append(x.Seqs, seq)
		default:
			x.More++
		}
	}
}

func frameSubject(kind FindingKind, id frames.FrameID) subject {
	return subject{kind: kind, provider: id.ProviderID, frame: id, isFrame: true}
}

func (f *finder) list() []LedgerFinding {
	list := make([]LedgerFinding, 0, len(f.found))
	for _, x := range f.found {
		slices.Sort(x.Seqs)
		list = append(list, *x)
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
