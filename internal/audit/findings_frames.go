package audit

import (
	"cmp"
	"slices"
	"time"

	"ledgerd/frames"
)

// served is one frame of one report.
type served struct {
	at     time.Time
	seq    int64
	id     frames.FrameID
	tokens int64
}

// servings lists every served frame in order of time, then of entries.
func servings(usage []UsageLine) []served {
	var list []served
	for _, u := range usage {
		for _, f := range u.Frames {
			list = append(list, served{u.AsOf, u.Seq, f.ID, f.Tokens})
		}
	}
	slices.SortStableFunc(list, func(a, b served) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) })
	return list
}

// usage finds what reports show among each other, and against when they were recorded.
func (f *finder) usage(e FindingEvidence) {
	for _, u := range e.Usage {
		if lag := u.RecordedAt.Sub(u.AsOf).Abs(); lag > MaxAsOfLag {
			f.add(subject{kind: FindingAsOfFar, provider: u.ProviderID}, u.AsOf, u.Seq)
		}
	}
	first := map[frames.FrameID]served{}
	for _, s := range servings(e.Usage) {
		before, known := first[s.id]
		if !known {
			first[s.id] = s
		} else if before.tokens != s.tokens {
			f.add(frameSubject(FindingCostDrift, s.id), s.at, before.seq, s.seq)
		}
	}
}

// name is a frame whatever its content: what a provider keeps serving under one id.
type name struct{ provider, frame string }

// verdicts finds what verifications and servings show together, by going through both in order of time. At one instant the
// serving comes first: a host verifies what it holds.
func (f *finder) verdicts(e FindingEvidence) {
	last := map[name]served{}                    // the newest content that was served under a name
	dropped := map[frames.FrameID]FrameVerdict{} // identities whose last verdict is stale or gone
	list := servings(e.Usage)
	for _, v := range e.Verdicts {
		for len(list) > 0 && !list[0].at.After(v.VerifiedAt) {
			f.serving(list[0], last, dropped)
			list = list[1:]
		}
		f.verdict(v, last, dropped)
	}
	for _, s := range list {
		f.serving(s, last, dropped)
	}
}

func (f *finder) serving(s served, last map[name]served, dropped map[frames.FrameID]FrameVerdict) {
	last[name{s.id.ProviderID, s.id.FrameID}] = s
	if v, was := dropped[s.id]; was {
		f.add(frameSubject(FindingStaleReuse, s.id), s.at, v.Seq, s.seq)
	}
}

func (f *finder) verdict(v FrameVerdict, last map[name]served, dropped map[frames.FrameID]FrameVerdict) {
	switch {
	case isStaleOrGone(v.Result):
		dropped[v.Frame] = v
	case isValid(v.Result):
		delete(dropped, v.Frame)
	}
	if v.VerifiedAt.Before(f.query.From) {
		return // it is known for what came after, and not asked about
	}
	if digest, given := v.Replacement.Value(); given && v.Frame.ContentDigest == frames.SomeDigest(digest) {
		f.add(frameSubject(FindingD1Conflict, v.Frame), v.VerifiedAt, v.Seq)
	}
	s, known := last[name{v.Frame.ProviderID, v.Frame.FrameID}]
	if known && isValid(v.Result) && s.id.ContentDigest != v.Frame.ContentDigest && !s.id.ContentDigest.IsZero() {
		f.add(frameSubject(FindingRubberStamp, v.Frame), v.VerifiedAt, s.seq, v.Seq)
	}
}

// unconsented finds egress that no consent covered at its instant, by the same judgement as the egress answer.
func (f *finder) unconsented(e Evidence) {
	if f.query.Kind != "" && f.query.Kind != FindingUnconsented {
		return
	}
	j := joiner{book: newBook(e.Consents), declared: declarationsOf(e.Declarations)}
	for _, g := range j.groups(e.Usage) {
		asked := j.askedScopes(g)
		for _, u := range g.usage {
			if u.FramesServed > 0 {
				f.uncovered(&j, g, asked, u)
			}
		}
	}
}

// uncovered adds the scopes of one report that nothing covers. Where nothing was declared, any consent that covers will do:
// which of the scopes applied is not known.
func (f *finder) uncovered(j *joiner, g group, scopes []asked, u UsageLine) {
	best := Unconsented
	evidence := []int64{u.Seq}
	for _, q := range scopes {
		t := target{g.provider, q.scope}
		v := j.verdict(q, t, moment{u.AsOf, u.Seq})
		best = better(best, v)
		s := EgressScope{Basis: q.basis}
		j.addConsent(&s, t)
		evidence = append(evidence, s.Seqs...)
		if g.declaration != nil && !v.covers() {
			f.add(subject{kind: FindingUnconsented, provider: g.provider, scope: string(q.scope), verdict: v}, u.AsOf, append(s.Seqs, u.Seq)...)
		}
	}
	if g.declaration == nil && !best.covers() && best != Undeclared {
		f.add(subject{kind: FindingUnconsented, provider: g.provider, verdict: best}, u.AsOf, evidence...)
	}
}
