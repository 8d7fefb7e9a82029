package relay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"ledgerd/metering"
)

// send brings a batch into the projection and returns the lines that it refuses.
func (s *Shipper) send(ctx context.Context, b *metering.Batch) ([]metering.Rejected, error) {
	name := fmt.Sprintf("%d:%d:", b.Epoch, b.ID)
	if len(b.Erased) > 0 {
		if err := s.o.Log.BeginErasing(ctx, b); err != nil {
			return nil, err
		}
		if err := s.o.Projection.Delete(ctx, b.Erased); err != nil {
			return nil, err
		}
		// A server that remembers the block of an earlier attempt would drop this one, whose rows were just destroyed.
		name += rand.Text() + ":"
	}
	return insert(ctx, s.o.Projection, s.o.Rejects, name, b.Lines)
}

// insert sends lines in one block. When the block is refused, it sends each half by itself, until a block of one line is
// refused: that is the culprit. A refused block costs at most 2·log2(n) further ones for each culprit.
//
// A block's token is the name and what it holds: a server drops a block whose token it knows without a look at its rows, so
// a stretch that reads otherwise when it is sent again must have another.
func insert(ctx context.Context, p Projection, rejects func(error) bool, name string, lines []metering.Line) ([]metering.Rejected, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	digest := metering.Digest(lines)
	err := p.Insert(ctx, name+hex.EncodeToString(digest[:]), lines)
	if err == nil || !rejects(err) {
		return nil, err
	}
	if len(lines) == 1 {
		return []metering.Rejected{{Seq: lines[0].Seq, ProviderID: lines[0].ProviderID, Reason: err.Error()}}, nil
	}
	half := len(lines) / 2
	first, err := insert(ctx, p, rejects, name, lines[:half])
	if err != nil {
		return nil, err
	}
	second, err := insert(ctx, p, rejects, name, lines[half:])
	return append(first, second...), err
}
