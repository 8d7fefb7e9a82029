package ledger

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

// Content is the three canonical parts of what is recorded. Everything stated later about an entry is in here, so
// everything stated is proven.
type Content struct {
	Artifact []byte // what was submitted
	Context  []byte // an object: what the poster says about it
	Receiver []byte // an object: what the server adds (verdict, findings, …)
}

// Encode joins the parts, which must be canonical already (see Canonicalize); RFC 8785 sorts these three names so.
func (c Content) Encode() []byte {
	prefix := c.Submitted()
	b := make([]byte, 0, len(prefix)+len(c.Receiver)+1)
	b = append(b, prefix...)
	b = append(b, c.Receiver...)
	return append(b, '}')
}

// Submitted is the part of the encoded content that the poster determined: everything before the receiver's object. Two
// submissions are the same exactly if these bytes are equal, whatever the server added at the time.
func (c Content) Submitted() []byte {
	b := make([]byte, 0, len(c.Artifact)+len(c.Context)+40)
	b = append(b, `{"artifact":`...)
	b = append(b, c.Artifact...)
	b = append(b, `,"context":`...)
	b = append(b, c.Context...)
	return append(b, `,"receiver":`...)
}

// SameSubmission says whether an encoded content was made from the submission whose Submitted bytes are given.
func SameSubmission(content, submitted []byte) bool { return bytes.HasPrefix(content, submitted) }

// ErrContentForm says that bytes are not an encoded Content. It wraps no error of the parser, which reads requests too: what
// is wrong with stored bytes must not be taken for a fault of a request.
var ErrContentForm = errors.New("content is not in its canonical form")

// ParseContent splits an encoded content into its parts, which alias raw, and refuses every spelling but Encode's.
func ParseContent(raw []byte) (Content, error) {
	c, _, err := parseContent(raw)
	return c, err
}

// VerifyContent is ParseContent that also demands the RFC 8785 form within the parts, and no number that it can't carry.
func VerifyContent(raw []byte) (Content, error) {
	c, representable, err := parseContent(raw)
	if err != nil {
		return Content{}, err
	}
	canonical, err := CanonicalizeChecked(raw)
	if err != nil || !representable || !bytes.Equal(canonical, raw) {
		return Content{}, fmt.Errorf("%w: a part of it is not canonical", ErrContentForm)
	}
	return c, nil
}

func parseContent(raw []byte) (c Content, representable bool, err error) {
	d := strictjson.NewDecoder(raw, strictjson.Closed)
	d.Object(
		strictjson.Req("artifact", func() { c.Artifact = d.Raw(d.Skip) }),
		strictjson.Req("context", func() { c.Context = d.Raw(d.Skip) }),
		strictjson.Req("receiver", func() { c.Receiver = d.Raw(d.Skip) }),
	)
	if err := d.Finish(); err != nil {
		return Content{}, false, fmt.Errorf("%w: %s", ErrContentForm, err.Error())
	}
	if !c.encodes(raw) {
		return Content{}, false, ErrContentForm
	}
	return c, d.NotRepresentable() == nil, nil
}

// encodes says whether Encode gives raw, without making it.
func (c Content) encodes(raw []byte) bool {
	for _, part := range [...]struct {
		name  string
		value []byte
	}{{`{"artifact":`, c.Artifact}, {`,"context":`, c.Context}, {`,"receiver":`, c.Receiver}} {
		n := len(part.name)
		if len(raw) < n || string(raw[:n]) != part.name || !bytes.HasPrefix(raw[n:], part.value) {
			return false
		}
		raw = raw[n+len(part.value):]
	}
	return string(raw) == "}"
}

// Canonicalize returns the RFC 8785 form of a JSON value and leaves its argument alone. A number that the form can't carry
// (beyond ±(2^53−1)) is a *strictjson.Error with RuleRepresentable; a malformed document one with another rule.
func Canonicalize(raw []byte) ([]byte, error) {
	d := strictjson.NewDecoder(raw, strictjson.Open)
	d.Skip()
	if err := d.Finish(); err != nil {
		return nil, err
	}
	if n := d.NotRepresentable(); n != nil {
		return nil, n
	}
	return CanonicalizeChecked(raw)
}

// CanonicalizeChecked is Canonicalize for a document whose syntax, names and numbers a strictjson.Decoder has passed
// already, so it need not keep the names of every object once more.
func CanonicalizeChecked(raw []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("canonicalising: %w", err)
	}
	return v, nil
}
