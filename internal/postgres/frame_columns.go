package postgres

import (
	"ledgerd/frames"
	"ledgerd/metering"
)

// frameColumns are a usage line's frames as the parallel arrays in which they are stored.
type frameColumns struct {
	providers []string // nil when all are the line's own
	ids       []string // nil once erased
	digests   []*string
	tokens    []int64
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
