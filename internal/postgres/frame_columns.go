package postgres

import (
	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/metering"
)

// frameColumns are a usage line's frames as the parallel arrays in which they are stored.
type frameColumns struct {
	providers []string // nil when all are the line's own
	ids       []string // nil once erased
	digests   []*string
	tokens    []int64
}

// served are the frames of a line of the provider, for questions; none once erased.
func (c frameColumns) served(provider string) []audit.ServedFrame {
	var list []audit.ServedFrame
	for _, f := range c.lineFrames(provider) {
		list = append(list, audit.ServedFrame{ID: f.ID, Tokens: f.Tokens})
	}
	return list
}

func (c frameColumns) lineFrames(provider string) []metering.LineFrame {
	list := make([]metering.LineFrame, 0, len(c.ids))
	for i, id := range c.ids {
		f := metering.LineFrame{ID: frames.FrameID{ProviderID: provider, FrameID: id, ContentDigest: frames.DigestOf(c.digests[i])}, Tokens: c.tokens[i]}
		if c.providers != nil {
			f.ID.ProviderID = c.providers[i]
		}
		list = append(list, f)
	}
	return list
}
