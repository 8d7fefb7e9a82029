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
func servings(usage ...[]UsageLine) []served {
	var list []served
	for _, u := range slices.Concat(usage...) {
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
	last := map[frames.FrameID]served{}
	for _, s := range servings(e.Before, e.Usage) {
		before, known := last[s.id]
		if known && before.tokens != s.tokens && f.asksAbout(s.at) {
			f.add(frameSubject(FindingCostDrift, s.id), s.at, s.seq, before.seq)
		}
		last[s.id] = s
	}
}

// asksAbout says whether something happened in the period, and not before it.
func (f *finder) asksAbout(at time.Time) bool { return !at.Before(f.query.From) }

// name is a frame whatever its content: what a provider keeps serving under one id.
type name struct{ provider, frame string }

// frameHistory is what is known of frames at one moment of going through time.
type frameHistory struct {
	last    map[name]served                 // the newest content that was served under a name
	dropped map[frames.FrameID]FrameVerdict // identities whose last verdict is stale or gone
}

// verdicts finds what verifications and servings show together, by going through both in order of time. At one instant the
// serving comes first: a host verifies what it holds.
func (f *finder) verdicts(e FindingEvidence) {
	h := frameHistory{last: map[name]served{}, dropped: map[frames.FrameID]FrameVerdict{}}
	list := servings(e.Before, e.Usage)
	for _, v := range e.Verdicts {
		for len(list) > 0 && !list[0].at.After(v.VerifiedAt) {
			f.serving(list[0], h)
			list = list[1:]
		}
		f.verdict(v, h)
	}
	for _, s := range list {
		f.serving(s, h)
	}
}

func (f *finder) serving(s served, h frameHistory) {
	h.last[name{s.id.ProviderID, s.id.FrameID}] = s
	if v, was := h.dropped[s.id]; was && f.asksAbout(s.at) {
		f.add(frameSubject(FindingStaleReuse, s.id), s.at, s.seq, v.Seq)
	}
}

func (f *finder) verdict(v FrameVerdict, h frameHistory) {
	switch {
	case isStaleOrGone(v.Result):
		h.dropped[v.Frame] = v
	case isValid(v.Result):
		delete(h.dropped, v.Frame)
	}
	if !f.asksAbout(v.VerifiedAt) {
		return // it is known for what came after
	}
	if digest, given := v.Replacement.Value(); given && v.Frame.ContentDigest == frames.SomeDigest(digest) {
		f.add(frameSubject(FindingD1Conflict, v.Frame), v.VerifiedAt, v.Seq)
	}
	s, known := h.last[name{v.Frame.ProviderID, v.Frame.FrameID}]
	if known && isValid(v.Result) && s.id.ContentDigest != v.Frame.ContentDigest && !s.id.ContentDigest.IsZero() {
		f.add(frameSubject(FindingRubberStamp, v.Frame), v.VerifiedAt, v.Seq, s.seq)
	}
}
