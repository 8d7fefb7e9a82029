package postgres

import (
	"encoding/binary"
	"errors"

	"ledgerd/frames"
	"ledgerd/metering"
)

// binaryFrames reads a line's frames from the four arrays as they are sent, without what scanning each element costs: shipping
// reads nothing else as often. The texts of an array share one string.
func binaryFrames(provider string, providers, ids, digests, tokens []byte) ([]metering.LineFrame, error) {
	var columns [4]binaryArray
	for i, raw := range [][]byte{providers, ids, digests, tokens} {
		var err error
		if columns[i], err = openArray(raw); err != nil {
			return nil, err
		}
	}
	own, n := columns[0].left == 0, columns[1].left
	if !own && columns[0].left != n || columns[2].left < n || columns[3].left < n {
		return nil, errArray
	}
	list := make([]metering.LineFrame, n)
	for i := range list {
		f := &list[i]
		f.ID.ProviderID = provider
		if !own {
			f.ID.ProviderID, _ = columns[0].next()
		}
		f.ID.FrameID, _ = columns[1].next()
		if digest, ok := columns[2].next(); ok {
			f.ID.ContentDigest = frames.SomeDigest(digest)
		}
		count, ok := columns[3].next()
		if !ok || len(count) != 8 {
			return nil, errArray
		}
		f.Tokens = int64(binary.BigEndian.Uint64([]byte(count)))
	}
	for i := range columns[:3] {
		if columns[i].broken {
			return nil, errArray
		}
	}
	return list, nil
}

var errArray = errors.New("an array column does not have the form that it was declared with")

// binaryArray reads an array of at most one dimension in Postgres' binary form (src/backend/utils/adt/arrayfuncs.c,
// array_send): dimensions, a flag, the element's type, of each dimension length and lower bound, then each element's length and
// bytes, -1 for null.
type binaryArray struct {
	rest   string
	left   int // elements that were not read
	broken bool
}

// openArray begins to read; null has no elements.
func openArray(raw []byte) (a binaryArray, err error) {
	const header, dimension = 12, 8
	if raw == nil {
		return a, nil
	}
	if len(raw) < header {
		return a, errArray
	}
	switch binary.BigEndian.Uint32(raw) {
	case 0:
		return a, nil
	case 1:
		if len(raw) < header+dimension {
			return a, errArray
		}
		left := binary.BigEndian.Uint32(raw[header:])
		a.rest, a.left = string(raw[header+dimension:]), int(left)
		if a.left > len(a.rest)/4 {
			return a, errArray
		}
		return a, nil
	}
	return a, errArray
}

// next reads an element; false for null, and when there is none.
func (a *binaryArray) next() (element string, ok bool) {
	if a.left == 0 || len(a.rest) < 4 {
		a.broken = true
		return "", false
	}
	a.left--
	size := int32(binary.BigEndian.Uint32([]byte(a.rest[:4])))
	a.rest = a.rest[4:]
	switch {
	case size == -1:
		return "", false
	case size < 0 || int(size) > len(a.rest):
		a.broken = true
		return "", false
	}
	element, a.rest = a.rest[:size], a.rest[size:]
	return element, true
}
