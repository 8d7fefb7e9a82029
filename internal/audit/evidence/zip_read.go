package evidence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// UnreadableError says that bytes are no evidence file that could be verified, and where.
type UnreadableError struct {
	Place   string // a member's name, or a part of the archive
	Problem string
}

func (e *UnreadableError) Error() string { return e.Place + ": " + e.Problem }

func unreadable(place, problem string) error { return &UnreadableError{Place: place, Problem: problem} }

const (
	placeEnd       = "the archive's end"
	placeDirectory = "the archive's directory"
)

// readDirectory reads an archive's directory and demands the one spelling of everything that is not a member's bytes.
func readDirectory(r io.ReaderAt, size int64) ([]stored, error) {
	if size < endLength || size > maxLength {
		return nil, unreadable(placeEnd, "the file is too short or too long to be an evidence file")
	}
	end, err := readAt(r, size-endLength, endLength)
	if err != nil {
		return nil, unreadable(placeEnd, err.Error())
	}
	count := int(binary.LittleEndian.Uint16(end[10:]))
	length, offset := int64(binary.LittleEndian.Uint32(end[12:])), int64(binary.LittleEndian.Uint32(end[16:]))
	switch {
	case binary.LittleEndian.Uint32(end) != endSignature:
		return nil, unreadable(placeEnd, "there is no end record: the file is cut short, has something behind it, or is no evidence file")
	case !bytes.Equal(end, endRecord(count, length, offset)):
		return nil, unreadable(placeEnd, "its end record is not in the one form that evidence files have")
	case count > maxCount || offset+length != size-endLength || length > int64(count)*(centralLength+maxName):
		return nil, unreadable(placeEnd, "its end record does not fit the file: it is cut short or was changed")
	}
	raw, err := readAt(r, offset, length)
	if err != nil {
		return nil, unreadable(placeDirectory, err.Error())
	}
	members, err := parseDirectory(raw, count, offset)
	if err != nil {
		return nil, err
	}
	return members, checkLocals(r, members)
}

// parseDirectory reads the central headers; the members lie one behind the other from the file's begin to the directory.
func parseDirectory(raw []byte, count int, end int64) ([]stored, error) {
	members, next := make([]stored, 0, count), int64(0)
	for i := range count {
		place := fmt.Sprintf("%s, member %d", placeDirectory, i)
		if len(raw) < centralLength {
			return nil, unreadable(place, "its header is cut short")
		}
		n := int(binary.LittleEndian.Uint16(raw[28:]))
		if n == 0 || n > maxName || len(raw) < centralLength+n {
			return nil, unreadable(place, "its name is empty, too long or cut short")
		}
		s := stored{
			name: string(raw[centralLength : centralLength+n]), crc: binary.LittleEndian.Uint32(raw[16:]),
			size: int64(binary.LittleEndian.Uint32(raw[20:])), offset: int64(binary.LittleEndian.Uint32(raw[42:])),
		}
		place += fmt.Sprintf(" (%q)", s.name)
		switch {
		case !bytes.Equal(raw[:centralLength+n], s.central()):
			return nil, unreadable(place, "its header is not in the one form that evidence files have: stored, without flags, dates, extra fields or comments")
		case s.offset != next:
			return nil, unreadable(place, "it does not lie behind the member before it")
		case s.size > MaxMember:
			return nil, unreadable(place, "it is larger than a member may be")
		}
		members, raw, next = append(members, s), raw[centralLength+n:], s.end()
	}
	if len(raw) > 0 || next != end {
		return nil, unreadable(placeDirectory, "the members and the directory do not fill the file")
	}
	return members, nil
}

func checkLocals(r io.ReaderAt, members []stored) error {
	for _, s := range members {
		raw, err := readAt(r, s.offset, localLength+int64(len(s.name)))
		if err != nil {
			return unreadable(s.name, err.Error())
		}
		if !bytes.Equal(raw, s.local()) {
			return unreadable(s.name, "its header is not that of the archive's directory")
		}
	}
	return nil
}

// readAt reads just these bytes.
func readAt(r io.ReaderAt, offset, length int64) ([]byte, error) {
	b := make([]byte, length)
	if n, err := r.ReadAt(b, offset); int64(n) < length {
		return nil, fmt.Errorf("reading it: %w", err)
	}
	return b, nil
}
