package api

import (
	"ledgerd/internal/kinds"
)

// Bounds of one chunk: large enough that what is done once a chunk does not show, small enough that the first results come
// soon. A line that is longer has a chunk to itself.
const (
	chunkLines = 256
	chunkBytes = 256 << 10
)

// window is the number of chunks that a stream may have in flight, read and not yet answered: 4,096 lines, a few append
// batches. windowBytes is the bound of their sizes.
const window = 16

// chunk is some consecutive lines on their way through a stream. It has one owner at a time and is used again.
type chunk struct {
	buf     []byte
	size    int // bytes that it may grow to, which it has of its stream's room
	lines   []line
	checked chan struct{} // one token once all lines are

	// What the check found.
	results  []result
	accepted []*kinds.Accepted // of the results that are decided and have no error, in order
	waits    bool              // some result is not decided
}

// line is one line of the body that is not blank.
type line struct {
	number  int64 // from 1, blank lines counted
	end     int   // in buf; it begins where the one before it ends
	tooLong bool  // its bytes were not kept
}

// result is what is said about one line. Without an error it waits for the outcome of its append.
type result struct {
	number  int64
	err     error
	waiting *waiting // not decided: what it names may be among the lines before it
}

// waiting is a line that is checked once the lines before it are recorded. It refers to its chunk's bytes.
type waiting struct {
	kind       *kinds.Kind
	submission kinds.Submission
}

func newChunk() *chunk { return &chunk{checked: make(chan struct{}, 1)} }

// reset makes a chunk ready for other lines. It keeps no reference to what was in it, and no unusual amount of memory.
func (c *chunk) reset() {
	if cap(c.buf) > chunkBytes {
		c.buf = nil
	}
	c.buf, c.lines = c.buf[:0], c.lines[:0]
	clear(c.results)
	clear(c.accepted)
	c.results, c.accepted, c.waits = c.results[:0], c.accepted[:0], false
}

// fits says whether the chunk takes one more line of the given length.
func (c *chunk) fits(length int) bool {
	return len(c.lines) == 0 || (len(c.lines) < chunkLines && len(c.buf)+length <= chunkBytes)
}

func (c *chunk) add(number int64, text []byte, tooLong bool) {
	c.buf = append(c.buf, text...)
	c.lines = append(c.lines, line{number: number, end: len(c.buf), tooLong: tooLong})
}

func (c *chunk) refuse(number int64, err error) {
	c.results = append(c.results, result{number: number, err: err})
}

func (c *chunk) wait(number int64, w *waiting) {
	c.results = append(c.results, result{number: number, waiting: w})
	c.waits = true
}

func (c *chunk) accept(number int64, acc *kinds.Accepted) {
	c.results = append(c.results, result{number: number})
	c.accepted = append(c.accepted, acc)
}
