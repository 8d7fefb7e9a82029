package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/strictjson"
)

// MaxContent is the largest content in bytes (spec "Bounds"), of every kind that does not say otherwise.
const MaxContent = 1 << 20

// TimeLayout is the only spelling of recorded_at: UTC, microseconds.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Salt is the 16 random bytes that make a commitment hiding.
type Salt [16]byte

// Commitment is a salted SHA-256 of a content or meta.
type Commitment [sha256.Size]byte

// Actor is who a token claimed to be when it posted.
type Actor struct {
	Role    string `json:"role"`
	TokenID string `json:"token_id"`
}

// Meta is what the server knows of an entry without looking into it.
type Meta struct {
	Actor  Actor
	Bytes  int // length of the content in bytes, kept after an erasure
	Key    string
	Kind   string
	Tenant string
}

// Encode returns the RFC 8785 bytes of m. Strings must be valid UTF-8, which the callers' bounds guarantee.
func (m Meta) Encode() []byte {
	b := make([]byte, 0, 160)
	b = append(b, `{"actor":{"role":`...)
	b = appendString(b, m.Actor.Role)
	b = append(b, `,"token_id":`...)
	b = appendString(b, m.Actor.TokenID)
	b = append(b, `},"bytes":`...)
	b = strconv.AppendInt(b, int64(m.Bytes), 10)
	b = append(b, `,"key":`...)
	b = appendString(b, m.Key)
	b = append(b, `,"kind":`...)
	b = appendString(b, m.Kind)
	b = append(b, `,"tenant":`...)
	b = appendString(b, m.Tenant)
	return append(b, '}')
}

// ErrMetaForm says that bytes are not the canonical form of a Meta. It wraps no error of the parser, as ErrContentForm.
var ErrMetaForm = errors.New("meta is not in its canonical form")

// ParseMeta reads the bytes that Encode wrote, and refuses any other spelling.
func ParseMeta(raw []byte) (Meta, error) {
	var m Meta
	d := strictjson.NewDecoder(raw, strictjson.Closed)
	d.Object(
		strictjson.Req("actor", func() {
			d.Object(
				strictjson.Req("role", func() { m.Actor.Role = d.String() }),
				strictjson.Req("token_id", func() { m.Actor.TokenID = d.String() }),
			)
		}),
		strictjson.Req("bytes", func() { m.Bytes = int(d.Uint32()) }),
		strictjson.Req("key", func() { m.Key = d.String() }),
		strictjson.Req("kind", func() { m.Kind = d.String() }),
		strictjson.Req("tenant", func() { m.Tenant = d.String() }),
	)
	if err := d.Finish(); err != nil {
		return Meta{}, fmt.Errorf("%w: %s", ErrMetaForm, err.Error())
	}
	if !bytes.Equal(m.Encode(), raw) {
		return Meta{}, ErrMetaForm
	}
	return m, nil
}

// CommitContent is C of the package documentation.
func CommitContent(salt Salt, content []byte) Commitment {
	return commit("ledgerd/content/v1\x00", salt, content)
}

// CommitMeta is M of the package documentation.
func CommitMeta(salt Salt, meta []byte) Commitment { return commit("ledgerd/meta/v1\x00", salt, meta) }

func commit(domain string, salt Salt, message []byte) Commitment {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write(salt[:])
	h.Write(message)
	return Commitment(h.Sum(nil))
}

// Envelope is a decoded leaf.
type Envelope struct {
	Content    Commitment
	Meta       Commitment
	Origin     string
	RecordedAt time.Time // UTC, whole microseconds
}

// Encode returns the leaf: version 1, RFC 8785.
func (e Envelope) Encode() []byte {
	b := make([]byte, 0, 224)
	b = append(b, `{"content":"`...)
	b = base64.StdEncoding.AppendEncode(b, e.Content[:])
	b = append(b, `","meta":"`...)
	b = base64.StdEncoding.AppendEncode(b, e.Meta[:])
	b = append(b, `","origin":`...)
	b = appendString(b, e.Origin)
	b = append(b, `,"recorded_at":"`...)
	b = e.RecordedAt.UTC().AppendFormat(b, TimeLayout)
	return append(b, `","v":1}`...)
}

// ErrEnvelopeForm says that bytes are not the one canonical form of an envelope. It wraps no error of the parser, as
// ErrContentForm.
var ErrEnvelopeForm = errors.New("envelope is not in its canonical form")

// ParseEnvelope reads a leaf and refuses every spelling but Encode's.
func ParseEnvelope(raw []byte) (Envelope, error) {
	var e Envelope
	d := strictjson.NewDecoder(raw, strictjson.Closed)
	d.Object(
		strictjson.Req("content", func() { e.Content = readCommitment(d) }),
		strictjson.Req("meta", func() { e.Meta = readCommitment(d) }),
		strictjson.Req("origin", func() { e.Origin = d.String() }),
		strictjson.Req("recorded_at", func() { e.RecordedAt, _ = time.Parse(TimeLayout, d.String()) }),
		strictjson.Req("v", func() {
			if d.Uint32() != 1 {
				d.Fail(strictjson.RuleValue, "only version 1 is known")
			}
		}),
	)
	if err := d.Finish(); err != nil {
		return Envelope{}, fmt.Errorf("%w: %s", ErrEnvelopeForm, err.Error())
	}
	if !bytes.Equal(e.Encode(), raw) {
		return Envelope{}, ErrEnvelopeForm
	}
	return e, nil
}

func readCommitment(d *strictjson.Decoder) Commitment {
	raw, err := base64.StdEncoding.DecodeString(d.String())
	if err != nil || len(raw) != sha256.Size {
		d.Fail(strictjson.RuleValue, "a commitment is 32 bytes in standard base64")
		return Commitment{}
	}
	return Commitment(raw)
}

// LeafHash is SHA-256(0x00 ‖ envelope), RFC 9162 §2.1.1.
func LeafHash(envelope []byte) tlog.Hash { return tlog.RecordHash(envelope) }

// appendString writes a JSON string with the escapes of RFC 8785 §3.2.2.2.
func appendString(b []byte, s string) []byte {
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // invalid UTF-8: AppendQuote has written U+FFFD, which no committed string equals
		return out
	}
	return out
}
