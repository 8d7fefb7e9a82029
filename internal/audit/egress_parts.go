package audit

import (
	"cmp"
	"slices"
	"strings"

	"ledgerd/frames"
	"ledgerd/receipts/air"
)

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

// exchangeText is what an exchange says, as one value.
type exchangeText struct{ host, model, provider, retention, witness, status, disclosures string }

func textOf(x Exchange) exchangeText {
	codes := make([]string, 0, 2*len(x.Disclosures))
	for _, d := range x.Disclosures {
		codes = append(codes, d.Code, d.Text)
	}
	return exchangeText{x.EndpointHost, x.ModelID, x.Provider, x.RetentionClass, x.WitnessMode, x.Status, strings.Join(codes, "\x00")}
}

// exchangesWith gathers what the receipts of a line's requests say, merged where they say the same.
func (j *joiner) exchangesWith(usage []UsageLine) []EgressExchange {
	list := []EgressExchange{}
	index := map[exchangeText]int{}
	requests := map[string]bool{}
	for _, u := range usage {
		if requests[u.RequestID] {
			continue
		}
		requests[u.RequestID] = true
		for _, x := range j.exchanges[u.RequestID] {
			text := textOf(x)
			i, known := index[text]
			if !known {
				i = len(list)
				index[text] = i
				list = append(list, egressExchange(x))
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

func egressExchange(x Exchange) EgressExchange {
	e := EgressExchange{
		EndpointHost: x.EndpointHost, ModelID: x.ModelID, Provider: x.Provider, RetentionClass: x.RetentionClass,
		WitnessMode: x.WitnessMode, Status: x.Status, Disclosures: x.Disclosures,
	}
	if e.Disclosures == nil {
		e.Disclosures = []air.Disclosure{}
	}
	return e
}
