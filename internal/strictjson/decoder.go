package strictjson

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Decoder reads one JSON document from a byte slice. It is not safe for concurrent use.
type Decoder struct {
	src     []byte
	dec     *jsontext.Decoder
	mode    Mode
	path    []byte // the place that is being read, as a JSON pointer
	err     *Error
	unknown []string
	number  *Error
	room    [96]byte // for path, which is rarely longer
	strings int      // read so far
	recent  *[256]string
}

// NewDecoder reads src, which must not change while the Decoder is used.
func NewDecoder(src []byte, mode Mode) *Decoder {
	return newDecoder(src, mode, false)
}

// NewWrapper reads a closed wrapper around parts that are taken with RawValue and decoded by other Decoders. Names that are
// twice inside a part are left to these; one that is twice in an object that this Decoder reads itself is an error as ever.
func NewWrapper(src []byte) *Decoder { return newDecoder(src, Closed, true) }

func newDecoder(src []byte, mode Mode, wrapper bool) *Decoder {
	dec := decoders.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(wrapper))
	d := &Decoder{src: src, dec: dec, mode: mode}
	d.path = d.room[:0]
	return d
}

// Parse reads all of src with read. On an error, always an *Error, the value is T's zero.
func Parse[T any](src []byte, mode Mode, read func(*Decoder) T) (T, error) {
	d := NewDecoder(src, mode)
	v := read(d)
	if err := d.Finish(); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// Finish demands that nothing but white space follows and returns the first error, always an *Error. Nothing can be read
// after it.
func (d *Decoder) Finish() error {
	if d.dec != nil && d.err == nil {
		if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
			d.path = d.path[:0]
			d.Fail(RuleTrailing, "something follows the JSON value")
		}
	}
	if d.dec != nil {
		d.dec.Reset(bytes.NewBuffer(nil)) // so that it keeps no document
		decoders.Put(d.dec)
		d.dec = nil
	}
	if d.err != nil {
		return d.err
	}
	return nil
}

// decoders keeps the working memory of decoders that are done, which is more than the documents mostly need.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(bytes.NewBuffer(nil)) }}

// Failed says whether an error has occurred, for readers that would otherwise interpret a zero value.
func (d *Decoder) Failed() bool { return d.err != nil }

// UnknownAt lists the objects (JSON pointers, each once, ordered by their first unknown member) that had unknown members
// in Open mode.
func (d *Decoder) UnknownAt() []string { return d.unknown }

// NotRepresentable is the first number, in a known or an unknown member, that RFC 8785 can't carry exactly, or nil.
func (d *Decoder) NotRepresentable() *Error { return d.number }

// Fail records a broken rule at the current place, unless an earlier one was recorded. The detail must be a fixed text.
func (d *Decoder) Fail(rule Rule, detail string) {
	if d.err == nil {
		d.err = &Error{Pointer: d.Pointer(), Rule: rule, Detail: detail}
	}
}

// Pointer is the place that is being read, as a JSON pointer of known names and indexes.
func (d *Decoder) Pointer() string { return string(d.path) }

// enter goes to a member, by a name of ours, and returns the way back: the length of the path before. Copying the name keeps
// what reads a member from escaping to the heap with the table that it stands in.
func (d *Decoder) enter(name string) (back int) {
	back = len(d.path)
	d.path = append(d.path, '/')
	plain := 0
	for plain < len(name) && name[plain] != '~' && name[plain] != '/' {
		plain++
	}
	d.path = append(d.path, name[:plain]...)
	for i := plain; i < len(name); i++ {
		switch name[i] { // RFC 6901 §3
		case '~':
			d.path = append(d.path, "~0"...)
		case '/':
			d.path = append(d.path, "~1"...)
		default:
			d.path = append(d.path, name[i])
		}
	}
	return back
}

// In reads with another mode: a closed wrapper around an open artifact.
func (d *Decoder) In(mode Mode, read func()) {
	before := d.mode
	d.mode = mode
	read()
	d.mode = before
}

// Artifact reads an embedded artifact in Open mode and returns the places of its unknown members as UnknownAt does, but
// relative to the artifact, so that what is said about it does not depend on the document around it.
func (d *Decoder) Artifact(read func()) (unknownAt []string) {
	base, before := d.Pointer(), len(d.unknown)
	d.In(Open, read)
	for _, at := range d.unknown[before:] {
		unknownAt = append(unknownAt, strings.TrimPrefix(at, base))
	}
	return unknownAt
}
