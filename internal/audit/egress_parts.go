package audit

import (
	"cmp"
	"slices"
	"time"

	"ledgerd/frames"
	"ledgerd/receipts/air"
)

// declarationsOf groups declarations by provider, in the order in which they came into force: by their own instant, ties by
// seq.
func declarationsOf(list []Declaration) map[string][]Declaration {
	m := map[string][]Declaration{}
	for _, d := range list {
		m[d.Event.ProviderID] = append(m[d.Event.ProviderID], d)
	}
	for _, of := range m {
		slices.SortFunc(of, func(a, b Declaration) int {
			return cmp.Or(a.DeclaredAt.Compare(b.DeclaredAt), cmp.Compare(a.Seq, b.Seq))
		})
	}
	return m
}

// inForce is the last declaration that had begun at t, nil for none.
func inForce(sorted []Declaration, t time.Time) *Declaration {
	i, _ := slices.BinarySearchFunc(sorted, t, func(d Declaration, t time.Time) int {
		if d.DeclaredAt.After(t) {
			return +1
		}
		return -1
	})
	if i == 0 {
		return nil
	}
	return &sorted[i-1]
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

// egressFrames merges the frames of a line by identity, in canonical order (context-reuse §1).
func egressFrames(usage []UsageLine) []EgressFrame {
	type total struct {
		times  int
		tokens int64
		seqs   []int64
	}
	totals := map[frames.FrameID]*total{}
	for _, u := range usage {
		for _, f := range u.Frames {
			t := totals[f.ID]
			if t == nil {
				t = &total{}
				totals[f.ID] = t
			}
			t.times++
			t.tokens += f.Tokens
			if len(t.seqs) == 0 || t.seqs[len(t.seqs)-1] != u.Seq {
				t.seqs = append(t.seqs, u.Seq)
			}
		}
	}
	list := make([]EgressFrame, 0, len(totals))
	for id, t := range totals {
		list = append(list, EgressFrame{FrameID: id, Times: t.times, Tokens: decimal(t.tokens), Seqs: t.seqs})
	}
	slices.SortFunc(list, func(a, b EgressFrame) int { return frames.Compare(a.FrameID, b.FrameID) })
	return list
}

// Narrow keeps of a usage line what concerns the asked frame: its frames, and their count and tokens. It is false when there
// is none. Without a frame in the question everything stays.
func (q EgressQuery) Narrow(u UsageLine) (UsageLine, bool) {
	if q.FrameID == "" && q.ContentDigest == "" {
		return u, true
	}
	kept := u
	kept.Frames, kept.FramesServed, kept.Tokens = nil, 0, 0
	for _, f := range u.Frames {
		digest, _ := f.ID.ContentDigest.Value()
		if (q.FrameID == "" || f.ID.FrameID == q.FrameID) && (q.ContentDigest == "" || digest == q.ContentDigest) {
			kept.Frames = append(kept.Frames, f)
			kept.FramesServed++
			kept.Tokens += f.Tokens
		}
	}
	return kept, kept.Frames != nil
}

func exchangesOf(list []Exchange) map[string][]Exchange {
	m := map[string][]Exchange{}
	for _, x := range list {
		m[x.RequestID] = append(m[x.RequestID], x)
	}
	return m
}

// exchangesWith gathers what the receipts of a line's requests say, merged where they say the same.
func (j *joiner) exchangesWith(usage []UsageLine) []EgressExchange {
	list := []EgressExchange{}
	requests := map[string]bool{}
	for _, u := range usage {
		if requests[u.RequestID] {
			continue
		}
		requests[u.RequestID] = true
		for _, x := range j.exchanges[u.RequestID] {
			e := EgressExchange{
				EndpointHost: x.EndpointHost, ModelID: x.ModelID, Provider: x.Provider, RetentionClass: x.RetentionClass,
				WitnessMode: x.WitnessMode, Status: x.Status, Disclosures: x.Disclosures,
			}
			if e.Disclosures == nil {
				e.Disclosures = []air.Disclosure{}
			}
			i := slices.IndexFunc(list, e.says)
			if i < 0 {
				i = len(list)
				list = append(list, e)
			}
			list[i].Seqs = append(list[i].Seqs, x.Seq)
		}
	}
	for _, e := range list {
		slices.Sort(e.Seqs)
	}
	slices.SortFunc(list, func(a, b EgressExchange) int {
		return cmp.Or(cmp.Compare(a.EndpointHost, b.EndpointHost), cmp.Compare(a.ModelID, b.ModelID), cmp.Compare(a.Seqs[0], b.Seqs[0]))
	})
	return list
}

// says compares everything but the entries.
func (e EgressExchange) says(o EgressExchange) bool {
	return e.EndpointHost == o.EndpointHost && e.ModelID == o.ModelID && e.Provider == o.Provider && e.RetentionClass == o.RetentionClass &&
		e.WitnessMode == o.WitnessMode && e.Status == o.Status && slices.Equal(e.Disclosures, o.Disclosures)
}

func instantOf(s string) (time.Time, bool) { return frames.ParseRFC3339(s) }
