package audit

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// declarations are those of one provider, ready to be asked about many moments: what was in force by the declarations' own
// instants, and what was in force of those that had been recorded by then. The second never looks better for what was
// recorded later.
type declarations struct {
	inOrder []Declaration // by their own instant, ties by seq
	bySeq   []Declaration
	up      [][]int32 // up[k][i] is the 2^k-th step back from inOrder[i], each step to the nearest one that was recorded earlier; -1 for none
}

func declarationsOf(list []Declaration) map[string]*declarations {
	m := map[string]*declarations{}
	for _, d := range list {
		of := m[d.Event.ProviderID]
		if of == nil {
			of = &declarations{}
			m[d.Event.ProviderID] = of
		}
		of.inOrder = append(of.inOrder, d)
	}
	for _, of := range m {
		of.index()
	}
	return m
}

func (l *declarations) index() {
	l.bySeq = slices.SortedFunc(slices.Values(l.inOrder), func(a, b Declaration) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortFunc(l.inOrder, func(a, b Declaration) int {
		return cmp.Or(a.DeclaredAt.Compare(b.DeclaredAt), cmp.Compare(a.Seq, b.Seq))
	})
	step := make([]int32, len(l.inOrder))
	for i := range l.inOrder {
		step[i] = int32(i - 1)
		for step[i] >= 0 && l.inOrder[step[i]].Seq > l.inOrder[i].Seq {
			step[i] = step[step[i]]
		}
	}
	for l.up = [][]int32{step}; 1<<len(l.up) < len(step); {
		last := l.up[len(l.up)-1]
		next := make([]int32, len(step))
		for i, j := range last {
			next[i] = -1
			if j >= 0 {
				next[i] = last[j]
			}
		}
		l.up = append(l.up, next)
	}
}

// at is the last declaration that had begun by its own instant, and the last of those that had been recorded by then; nil
// for none. They differ where somebody declared after the fact.
func (l *declarations) at(m moment) (dated, known *Declaration) {
	if l == nil {
		return nil, nil
	}
	i := sort.Search(len(l.inOrder), func(i int) bool { return l.inOrder[i].DeclaredAt.After(m.at) }) - 1
	if i < 0 {
		return nil, nil
	}
	if j := l.recordedBefore(int32(i), l.bound(m)); j >= 0 {
		known = &l.inOrder[j]
	}
	return &l.inOrder[i], known
}

// bound is the first seq that the moment does not know. What is recorded later has a later seq and no earlier time, so
// everything below it is known.
func (l *declarations) bound(m moment) int64 {
	i := sort.Search(len(l.bySeq), func(i int) bool { return !m.knew(l.bySeq[i].Seq, l.bySeq[i].RecordedAt) })
	if i == len(l.bySeq) {
		return math.MaxInt64
	}
	return l.bySeq[i].Seq
}

// recordedBefore is the last place up to i whose seq is below the bound, -1 for none.
func (l *declarations) recordedBefore(i int32, bound int64) int32 {
	if l.inOrder[i].Seq < bound {
		return i
	}
	for k := len(l.up) - 1; k >= 0; k-- {
		if j := l.up[k][i]; j >= 0 && l.inOrder[j].Seq >= bound {
			i = j
		}
	}
	return l.up[0][i]
}

// compareDeclarations orders them by when they came into force, none first.
func compareDeclarations(a, b *Declaration) int {
	switch {
	case a == b:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return +1
	}
	return cmp.Or(a.DeclaredAt.Compare(b.DeclaredAt), cmp.Compare(a.Seq, b.Seq))
}

// moment is the instant of an egress and the entry that reports it.
type moment struct {
	at  time.Time
	seq int64
}

// knew says whether an entry was there for the host to know by that moment.
func (m moment) knew(seq int64, recordedAt time.Time) bool {
	return seq < m.seq && recordedBy(recordedAt, m.at)
}
