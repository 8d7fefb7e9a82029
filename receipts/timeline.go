package receipts

import (
	"container/heap"
	"slices"
	"time"
)

// timeline is how consent to one target stood over all time. It is made once from the history and then asked about many
// moments: making it costs n log n in the events of the history, asking log n.
type timeline struct {
	before  Standing // until the first span
	spans   []span   // in order of time
	periods []period // in the order of recording
}

// span is a stretch of time, up to the next one, in which nothing changes.
type span struct {
	from     time.Time
	standing Standing
}

// at is the standing of the consent that decides at t. Of several in force the first recorded decides, so it is known to
// whoever knows any of them; else the one that began last.
func (l *timeline) at(t time.Time) Standing {
	i, _ := slices.BinarySearchFunc(l.spans, t, func(s span, t time.Time) int {
		if s.from.After(t) {
			return +1
		}
		return -1
	})
	if i == 0 {
		return l.before
	}
	return l.spans[i-1].standing
}

// says compares everything but the receipt, which follows from the index.
func (s Standing) says(o Standing) bool {
	return s.State == o.State && s.Index == o.Index && s.EndedAt.Equal(o.EndedAt) && s.Revocation == o.Revocation && s.FirstRevocation == o.FirstRevocation
}

func newTimeline(periods []period, revocations []revocation) *timeline {
	w := sweep{periods: periods, begins: begunInOrder(periods), revocations: slices.Clone(revocations), last: -1, first: -1}
	slices.SortFunc(w.revocations, compareRevocations)
	l := &timeline{before: nothingBegun(periods), periods: periods}
	w.enter(time.Time{}, true)
	for more := true; more; more = w.next() {
		if s, something := w.standing(); something {
			l.add(w.now, s)
		}
	}
	return l
}

// add begins a span unless it says what the one before it says.
func (l *timeline) add(from time.Time, s Standing) {
	switch {
	case len(l.spans) == 0 && from.IsZero():
		l.before = s
	case l.at(from).says(s):
	default:
		l.spans = append(l.spans, span{from, s})
	}
}

// nothingBegun is the standing before any consent began: that of the one that will begin last, or of an undated one.
func nothingBegun(periods []period) Standing {
	best := never
	var began time.Time
	for _, p := range periods {
		switch {
		case p.undated && best.State != NotYetGranted:
			best.State, best.Index = Undated, p.place
		case !p.undated && !p.always && (best.State != NotYetGranted || !p.began.Before(began)):
			best.State, best.Index, began = NotYetGranted, p.place, p.began
		}
	}
	return best
}

// begunInOrder lists the places of datable periods by when they began, ties in the order of recording.
func begunInOrder(periods []period) []int {
	var order []int
	for i, p := range periods {
		if !p.undated {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		pa, pb := periods[a], periods[b]
		switch {
		case pa.always && pb.always:
			return 0
		case pa.always:
			return -1
		case pb.always:
			return +1
		}
		return pa.began.Compare(pb.began)
	})
	return order
}

// sweep goes through time and keeps what is in force.
type sweep struct {
	periods     []period
	begins      []int // not yet begun, in order
	revocations []revocation
	now         time.Time
	live        placeHeap // begun; the first recorded on top is in force, once those that are over are taken off
	last        int       // the period that began last, -1 for none
	first       int       // of the revocations that concern it so far, the first recorded, -1 for none
}

// enter takes in everything that happens up to an instant; at the beginning, what counts from always on.
func (w *sweep) enter(now time.Time, always bool) {
	w.now = now
	for len(w.begins) > 0 {
		p := w.periods[w.begins[0]]
		if always && !p.always || !always && p.began.After(now) {
			break
		}
		w.last, w.first = w.begins[0], -1
		heap.Push(&w.live, w.begins[0])
		w.begins = w.begins[1:]
	}
	for !always && len(w.revocations) > 0 && !w.revocations[0].at.After(now) {
		v := w.revocations[0]
		if w.last >= 0 && w.periods[w.last].concernedBy(v) && (w.first < 0 || v.place < w.first) {
			w.first = v.place
		}
		w.revocations = w.revocations[1:]
	}
	for len(w.live) > 0 && !always && w.periods[w.live[0]].over(now) {
		heap.Pop(&w.live)
	}
}

// next goes to the next instant at which something happens: a consent begins, a revocation counts, or what decides ends.
func (w *sweep) next() bool {
	var at time.Time
	found := false
	sooner := func(t time.Time) {
		if !found || t.Before(at) {
			at, found = t, true
		}
	}
	if len(w.begins) > 0 {
		sooner(w.periods[w.begins[0]].began)
	}
	if len(w.revocations) > 0 {
		sooner(w.revocations[0].at)
	}
	if len(w.live) > 0 && w.periods[w.live[0]].state != Live {
		sooner(w.periods[w.live[0]].ends)
	}
	if found {
		w.enter(at, false)
	}
	return found
}

// standing is what decides now; false before anything began.
func (w *sweep) standing() (Standing, bool) {
	switch {
	case len(w.live) > 0:
		p := w.periods[w.live[0]]
		return Standing{State: Live, Index: p.place, Revocation: -1, FirstRevocation: -1}, true
	case w.last < 0:
		return never, false
	}
	p := w.periods[w.last]
	s := Standing{State: p.state, Index: p.place, EndedAt: p.ends, Revocation: p.by, FirstRevocation: -1}
	if p.state == Revoked {
		s.FirstRevocation = w.first
	}
	return s, true
}

// placeHeap has the first recorded on top.
type placeHeap []int

func (h placeHeap) Len() int           { return len(h) }
func (h placeHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h placeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *placeHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *placeHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
