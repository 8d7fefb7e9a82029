package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// maxLine is the longest line in bytes that is looked at: the largest artifact of most kinds, and its wrapper. Every stream has room
// for a few such lines, so what is larger, as only a context assembly may be, is posted alone.
const maxLine = ledger.MaxContent + wrapperBytes

// lineReader cuts a body into lines and gathers these in chunks. While checkers are idle a chunk goes to one of them before
// the body is asked for more, so that no line waits for the next; while all are busy the newest chunk goes on filling.
type lineReader struct {
	from    io.Reader
	room    *lineShare
	limit   int // lines, 0 for no limit
	free    chan *chunk
	open    chan *chunk // the newest chunk, if no checker took it yet: the reader takes it back to add lines
	ordered chan *chunk // every chunk in the order of lines, from when it is begun; closed at the end
	done    <-chan struct{}
	ended   chan struct{} // closed when the body is no longer read

	chunk *chunk // that is being filled, nil for none
	lines int    // that were not blank

	// Valid once ordered is closed.
	number int64 // of the last whole line
	err    error // that ended the body before its end, nil for none
}

func newLineReader(ctx context.Context, from io.Reader, room *lineRoom, limit int) *lineReader {
	l := &lineReader{
		from: from, room: &lineShare{room: room}, limit: limit, done: ctx.Done(),
		free: make(chan *chunk, window), open: make(chan *chunk, 1), ordered: make(chan *chunk, window),
		ended: make(chan struct{}),
	}
	for range window {
		l.free <- newChunk()
	}
	return l
}

// errStopped ends a reader whose stream has no use for more lines.
var errStopped = errors.New("the stream was stopped")

// run reads the body to its end, to an error or until the stream is stopped.
func (l *lineReader) run() {
	defer close(l.ordered)
	defer close(l.open)
	defer close(l.ended)
	in := bufio.NewReaderSize((*feed)(l), maxLine+len("\n"))
	for {
		err := l.line(in)
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			l.err = err
		}
		_ = l.hand() // the lines before the error stand; when stopped nobody waits for them
		return
	}
}

// line reads one line into a chunk; io.EOF after the last.
func (l *lineReader) line(in *bufio.Reader) error {
	text, err := in.ReadSlice('\n')
	tooLong := errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) { // skip the rest of it
		text, err = in.ReadSlice('\n')
	}
	ended := errors.Is(err, io.EOF)
	if err != nil && !ended {
		return err // of the line that it cut there is nothing to be believed
	}
	if tooLong || len(text) > 0 {
		l.number++
	}
	if tooLong {
		text = nil
	}
	if text = bytes.Trim(text, " \t\r\n"); tooLong || len(text) > 0 {
		if err := l.put(text, tooLong); err != nil {
			return err
		}
	}
	if ended {
		return io.EOF
	}
	return nil
}

func (l *lineReader) put(text []byte, tooLong bool) error {
	if l.lines++; l.limit > 0 && l.lines > l.limit {
		return &kinds.TooLargeError{Limit: int64(l.limit)}
	}
	if l.chunk == nil {
		select {
		case l.chunk = <-l.open:
		default:
		}
	}
	if l.chunk == nil || !l.chunk.fits(len(text)) {
		if err := l.begin(max(chunkBytes, len(text))); err != nil {
			return err
		}
	}
	l.chunk.add(l.number, text, tooLong)
	return nil
}

// begin opens another chunk, for at most size bytes. It waits while the whole window is in flight: for the append path, or for a
// client that does not read its results; and while other streams have all the room there is.
func (l *lineReader) begin(size int) error {
	if err := l.hand(); err != nil {
		return err
	}
	if !l.room.take(size) {
		return errStopped
	}
	select {
	case l.chunk = <-l.free:
		l.chunk.size = size
		l.ordered <- l.chunk // which has room for all there are
		return nil
	case <-l.done:
		return errStopped
	}
}

// hand leaves the chunk to the checkers.
func (l *lineReader) hand() error {
	if l.chunk == nil {
		return nil
	}
	select {
	case l.open <- l.chunk:
		l.chunk = nil
		return nil
	case <-l.done:
		return errStopped
	}
}

// feed is what the buffer fills itself from: before it waits for more of the body, what there is goes on its way.
type feed lineReader

func (f *feed) Read(p []byte) (int, error) {
	if err := (*lineReader)(f).hand(); err != nil {
		return 0, err
	}
	return f.from.Read(p)
}
