package assembly

import (
	"errors"
	"strings"

	"ledgerd/internal/strictjson"
)

// MaxRecordBytes bounds a record before any work on it. A contribution and its row in the report take about 1.5 KB, so
// this is room for five thousand of them.
const MaxRecordBytes = 8 << 20

// RecordError is the refusal of a document that is no record: it has the wrong shape, or holds what must not be stored.
type RecordError struct {
	// Code is SchemaInvalid or ForbiddenContent.
	Code Code
	// At are JSON pointers of known members: the first fault of a shape, or every forbidden place.
	At []string
	// Detail is a fixed text of ours.
	Detail string
}

func (e *RecordError) Error() string {
	return string(e.Code) + " at " + strings.Join(e.At, ", ") + ": " + e.Detail
}

// Rule is C0-R010 or C0-R020.
func (e *RecordError) Rule() Rule {
	if e.Code == ForbiddenContent {
		return R020
	}
	return R010
}

// parse reads one closed document (C0-R010, C0-R020). The strict reader refuses whatever the deny list refuses, since a
// forbidden member is always an unknown one; only after a fault is the whole document searched for forbidden content,
// which is then what the refusal is about.
//
// Every object of a record is read by its table, which knows what stands twice. So the decoder need not remember names.
func parse[T any](src []byte, read func(reader) T) (T, error) {
	return parseBy(strictjson.NewWrapper, src, read)
}

// parseBy is parse with another decoder, for documents of which parts are only read over.
func parseBy[T any](decoder func([]byte) *strictjson.Decoder, src []byte, read func(reader) T) (T, error) {
	var zero T
	if len(src) > MaxRecordBytes {
		return zero, &RecordError{Code: SchemaInvalid, At: []string{""}, Detail: "the record exceeds 8 MiB"}
	}
	d := decoder(src)
	v := read(reader{d})
	err := d.Finish()
	if tooLarge := d.NotRepresentable(); err == nil && tooLarge != nil {
		err = tooLarge
	}
	var fault *strictjson.Error
	if !errors.As(err, &fault) {
		return v, nil
	}
	if at := Forbidden(src); len(at) > 0 {
		return zero, &RecordError{Code: ForbiddenContent, At: at, Detail: "a record holds digests, sizes and safe tokens only"}
	}
	return zero, &RecordError{Code: SchemaInvalid, At: []string{fault.Pointer}, Detail: string(fault.Rule) + ", " + fault.Detail}
}

// reader adds the types of section 1 to the strict decoder.
type reader struct{ *strictjson.Decoder }

// want reads a string that a test accepts.
func (r reader) want(accepts func(string) bool, detail string) string {
	s := r.String()
	if !r.Failed() && !accepts(s) {
		r.Fail(strictjson.RuleValue, detail)
		return ""
	}
	return s
}

func (r reader) token() string { return r.want(isSafe, "a safe token is required") }
func (r reader) digest() string {
	return r.want(isDigest, "sha256: and 64 lower-case hex digits are required")
}
func (r reader) uuid() string { return r.want(isUUID, "a UUID is required") }

// word reads any safe token where a word is expected and an unknown one breaks a rule of the contract, not the shape.
func (r reader) word() Word { return Word(r.token()) }

// wordOf reads a word of a closed vocabulary.
func (r reader) wordOf(vocabulary ...Word) Word {
	return Word(r.want(func(s string) bool { return words(vocabulary).has(Word(s)) }, "a word of the vocabulary is required"))
}

func (r reader) instant() (t instant) {
	r.want(func(s string) (ok bool) {
		t, ok = parseInstant(s)
		return ok
	}, "an RFC 3339 time in UTC with Z is required")
	return t
}

// count reads an integer from 0 to 2^53−1; the upper bound is enforced once for the document.
func (r reader) count() int64 { return int64(r.Uint64() & strictjson.MaxInteger) }

// limit is a nullable count.
type limit struct {
	n   int64
	set bool
}

func (r reader) limit() limit {
	if r.Null() {
		return limit{}
	}
	return limit{r.count(), true}
}

// orNull reads a value, or null as the type's zero, which no present value of these types is.
func orNull[T any](r reader, read func() T) T {
	if r.Null() {
		var absent T
		return absent
	}
	return read()
}

// list reads an array. It is never nil, so that an empty list is written as one.
func list[T any](r reader, read func() T) []T {
	all := []T{}
	r.Array(func(i int) {
		if i == 1 { // a longer list grows a few times less
			all = append(make([]T, 0, 16), all...)
		}
		all = append(all, read())
	})
	return all
}

// listOf reads an array of large values, each where it stays.
func listOf[T any](r reader, read func(*T)) []T {
	all := []T{}
	r.Array(func(i int) {
		if i == 1 {
			all = append(make([]T, 0, 16), all...)
		}
		var zero T
		all = append(all, zero)
		read(&all[i])
	})
	return all
}

// member is one row of an object's shape.
type member = strictjson.Member

// req is a member of the shape: present, whatever its value.
func req(name string, read func()) member { return strictjson.Req(name, read) }

// opt is one of the few members that may be absent.
func opt(name string, read func()) member { return strictjson.Opt(name, read) }

// into reads a member's value into a field.
func into[T any](name string, field *T, read func() T) member {
	return req(name, func() { *field = read() })
}
