package kinds

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// Bounds of what identifies something, in bytes (spec "Bounds").
const (
	MaxKey        = 256
	MaxIdentifier = 512
)

// Rejection refuses a well-formed submission. Nothing in it repeats a value that the poster chose.
type Rejection struct {
	Code    string // stable, the last part of the problem type
	Pointer string // JSON pointer into the request body, "" when it concerns the whole
	Detail  string // a fixed text, or one with numbers that were computed
	Causes  []Cause
}

// Cause is one of several broken rules behind a Rejection.
type Cause struct {
	Rule    string `json:"rule"`
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

func (r *Rejection) Error() string {
	if r.Pointer == "" {
		return r.Code + ": " + r.Detail
	}
	return r.Code + " at " + r.Pointer + ": " + r.Detail
}

// identifier bounds one string that names something: not empty unless allowed by the protocol, at most max bytes, no
// control characters (a NUL would poison a whole batch in Postgres).
func identifier(pointer, value string, max int) error {
	switch {
	case len(value) > max:
		return &Rejection{Code: "identifier-too-long", Pointer: pointer, Detail: "an identifier has at most " + strconv.Itoa(max) + " bytes"}
	case !utf8.ValidString(value):
		return &Rejection{Code: "identifier-malformed", Pointer: pointer, Detail: "an identifier is valid UTF-8"}
	case strings.ContainsFunc(value, unicode.IsControl):
		return &Rejection{Code: "identifier-malformed", Pointer: pointer, Detail: "an identifier has no control characters"}
	}
	return nil
}

// CheckKey bounds a key that a client chose: 1 to 256 bytes, no control characters.
func CheckKey(pointer, key string) error {
	if key == "" {
		return &Rejection{Code: "identifier-malformed", Pointer: pointer, Detail: "a key is not empty"}
	}
	return identifier(pointer, key, MaxKey)
}

// bounds collects the first violation over many identifiers.
type bounds struct{ err error }

func (b *bounds) id(pointer, value string) {
	if b.err == nil {
		b.err = identifier(pointer, value, MaxIdentifier)
	}
}

// name is id for what must not be empty.
func (b *bounds) name(pointer, value string) {
	if b.err == nil && value == "" {
		b.err = &Rejection{Code: "identifier-malformed", Pointer: pointer, Detail: "it must not be empty"}
	}
	b.id(pointer, value)
}

// instant bounds a timestamp of an artifact, which the protocol leaves unchecked: its length, and years from 0001, since
// the database has no year 0000.
func (b *bounds) instant(pointer string, value *string) {
	if value == nil {
		return
	}
	b.id(pointer, *value)
	if t, ok := frames.ParseRFC3339(*value); b.err == nil && ok && t.Year() < 1 {
		b.err = &Rejection{Code: "instant-out-of-range", Pointer: pointer, Detail: "an instant lies in the years 0001 to 9999"}
	}
}

// finish ends a parse for the store: malformed, or not representable in RFC 8785, is an error, whose pointer is moved from
// the parsed part to its place in the request body.
func finish(d *strictjson.Decoder, base string) error {
	err := d.Finish()
	if err == nil && d.NotRepresentable() != nil {
		err = d.NotRepresentable()
	}
	var e *strictjson.Error
	if errors.As(err, &e) {
		moved := *e
		moved.Pointer = base + e.Pointer
		return &moved
	}
	return err
}

// context is the submission's context, an empty object when the poster said nothing.
func (s Submission) context() []byte {
	if s.Context == nil {
		return []byte("{}")
	}
	return s.Context
}

// noContext refuses a context for kinds that have none.
func noContext(s Submission) error {
	d := strictjson.NewDecoder(s.context(), strictjson.Closed)
	d.Object()
	return finish(d, s.ContextAt)
}

// canonical makes the content of an accepted submission. receiver is marshalled by Go and canonicalised.
func canonical(s Submission, receiver any) (ledger.Content, error) {
	raw, err := json.Marshal(receiver)
	if err != nil {
		return ledger.Content{}, err
	}
	var c ledger.Content
	if c.Artifact, err = ledger.CanonicalizeChecked(s.Artifact); err != nil {
		return ledger.Content{}, err
	}
	if c.Context, err = ledger.CanonicalizeChecked(s.context()); err != nil {
		return ledger.Content{}, err
	}
	if c.Receiver, err = ledger.CanonicalizeChecked(raw); err != nil {
		return ledger.Content{}, err
	}
	return c, nil
}

// findingsReceiver is the receiver's part for kinds whose check yields findings only. The list is never null.
type findingsReceiver struct {
	Findings []frames.Finding `json:"findings"`
}

func withFindings(f []frames.Finding) findingsReceiver {
	if f == nil {
		f = []frames.Finding{}
	}
	return findingsReceiver{Findings: f}
}

// CheckName bounds a name like every identifier that is recorded: at most 512 bytes of UTF-8, no control characters.
func CheckName(s string) error { return identifier("", s, MaxIdentifier) }
