package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"ledgerd/internal/kinds"
)

// Bounds of an atomic request.
const (
	atomicLines = 10_000
	atomicBytes = 64 << 20
)

// Bounds of all atomic requests that are checked and recorded at the same time, which takes a dozen times as much memory as
// their bodies: one that is as large as may be, for which the others wait. What comes to less than a MiB takes no part in it.
const (
	groupMemory   = atomicBytes >> 20 // MiB
	groupPatience = 20 * time.Second
)

// recordAll checks every line before any is recorded, and records all in one transaction or none.
func (a *API) recordAll(c *call, x *exchange) (reply, error) {
	text, size, err := readBlocks(x.body)
	if err != nil {
		return reply{}, err
	}
	// Once the body was read, so who sends slowly keeps nobody out, and once for each request, so no two wait for each other.
	leave, err := a.large.enter(c.ctx(), c.who.Tenant, int64(size>>20))
	defer leave()
	if errors.Is(err, errNoRoom) {
		err = kinds.ErrBusy
	}
	if err != nil {
		return reply{}, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.ctx()))
	s := a.startStream(ctx, c, x, text, atomicLines)
	defer s.end(stop)
	var g group
	for chunk := range s.checked() {
		g.add(chunk)
		s.recycle(chunk)
	}
	if cut := s.failure(); cut.err != nil {
		return reply{}, cut.err
	}
	if err := a.renewal(c)(ctx); err != nil { // the body may have taken long
		return reply{}, err
	}
	outcomes := g.record(ctx, a.appender, c.who)
	results := resultWriter{api: a, exchange: x}
	_ = results.write(g.results, outcomes) // fails when the client has gone
	return reply{sent: true}, nil
}

// readBlocks reads a body whole. It is kept in pieces, which nothing has to be copied for as it grows, and which are let go as
// they are read again.
func readBlocks(from io.Reader) (text io.Reader, size int, err error) {
	var blocks []io.Reader
	for {
		block := make([]byte, chunkBytes)
		n, err := io.ReadFull(from, block)
		if n < len(block) {
			block = bytes.Clone(block[:n])
		}
		blocks, size = append(blocks, bytes.NewReader(block)), size+n
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return io.MultiReader(blocks...), size, nil
		case err != nil:
			return nil, 0, err
		}
	}
}

// group is what an atomic request gathered.
type group struct {
	results  []result
	accepted []*kinds.Accepted // nil once a line was refused
	count    int               // of results without an error
	refused  bool
}

func (g *group) add(c *chunk) {
	g.results = append(g.results, c.results...)
	g.count += len(c.accepted)
	g.refused = g.refused || len(c.accepted) < len(c.results)
	if g.refused {
		g.accepted = nil
		return
	}
	g.accepted = append(g.accepted, c.accepted...)
}

func (g *group) record(ctx context.Context, to appender, who kinds.Poster) []kinds.Outcome {
	if g.refused {
		outcomes := make([]kinds.Outcome, g.count)
		for i := range outcomes {
			outcomes[i].Err = kinds.ErrNotRecorded
		}
		return outcomes
	}
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	return to.AppendAll(ctx, who, g.accepted)
}
