package api

import "sync"

// Bounds of the bytes of lines that are in flight, read and not yet answered. What a line becomes takes a dozen times as much
// memory while it is checked and recorded.
const (
	windowBytes = window * chunkBytes // of one stream
	linesBytes  = 4 * windowBytes     // of all streams
)

// lineRoom is the room for lines in flight that all streams share. A stream that has nothing in flight never waits for the
// others: it may always have one chunk, and what is in flight needs no more room to be answered. So none can keep another from
// getting on, and no two can wait for each other.
type lineRoom struct {
	mu    sync.Mutex
	freed *sync.Cond
	taken int // bytes
}

func newLineRoom() *lineRoom {
	r := &lineRoom{}
	r.freed = sync.NewCond(&r.mu)
	return r
}

// lineShare is what one stream has of it.
type lineShare struct {
	room  *lineRoom
	taken int  // bytes
	left  bool // the stream has ended
}

// take waits for room for some bytes; false when the stream has ended.
func (s *lineShare) take(bytes int) bool {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	for !s.left && s.taken > 0 && (s.taken+bytes > windowBytes || s.room.taken+bytes > linesBytes) {
		s.room.freed.Wait()
	}
	if s.left {
		return false
	}
	s.taken += bytes
	s.room.taken += bytes
	return true
}

func (s *lineShare) give(bytes int) {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.taken -= bytes
	s.room.taken -= bytes
	s.room.freed.Broadcast() // any stream's reader may be the one that it lets on
}

// leave gives back all that the stream has, and ends its waiting.
func (s *lineShare) leave() {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.left = true
	s.room.taken -= s.taken
	s.taken = 0
	s.room.freed.Broadcast()
}
