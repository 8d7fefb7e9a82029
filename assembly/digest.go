package assembly

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The domains of digests over structured values (section 1 of the specification). A zero byte ends each.
const (
	profileDomain        = "tyrum.c0.profile.v1\x00"
	ruleDomain           = "tyrum.c0.position-rule.v1\x00"
	snapshotDomain       = "tyrum.c0.binding-snapshot.v1\x00"
	planDomain           = "tyrum.c0.assembly-plan.v1\x00"
	outputContractDomain = "tyrum.c0.output-contract.v1\x00"
	resultDomain         = "tyrum.c0.result.v1\x00"
	scopeDomain          = "tyrum.c0.scope.v1\x00"
	identityDomain       = "tyrum.c0.dedupe-identity.v1\x00"
)

const digestPrefix = "sha256:"

// isDigest: "sha256:" and 64 lower-case hex digits.
func isDigest(s string) bool {
	if len(s) != len(digestPrefix)+2*sha256.Size || s[:len(digestPrefix)] != digestPrefix {
		return false
	}
	for i := len(digestPrefix); i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// digestOf is SHA-256 over bytes that begin with their domain, as digest text.
func digestOf(b []byte) string { return digestText(sha256.Sum256(b)) }

func digestText(sum [sha256.Size]byte) string {
	var text [len(digestPrefix) + 2*sha256.Size]byte
	return string(hex.AppendEncode(append(text[:0], digestPrefix...), sum[:]))
}

// digestJSON is the digest over the RFC 8785 form of a JSON value, without the named member when one is named.
func digestJSON(domain string, raw jsontext.Value, without string) (string, error) {
	if without != "" {
		var err error
		if raw, err = withoutMember(raw, without); err != nil {
			return "", err
		}
	}
	b := append(make([]byte, 0, len(domain)+len(raw)), domain...)
	b, err := jsontext.AppendFormat(b, raw,
		jsontext.CanonicalizeRawInts(true), jsontext.CanonicalizeRawFloats(true), jsontext.ReorderRawObjects(true))
	return digestOf(b), err
}

// PayloadDigest is the digest of a payload: its type, a zero byte and its bytes as they are, without any normalisation of
// characters or line ends (D-01).
func PayloadDigest(payloadType string, payload []byte) string {
	b := make([]byte, 0, len(payloadType)+1+len(payload))
	b = append(append(append(b, payloadType...), 0), payload...)
	return digestOf(b)
}

// canonical writes RFC 8785 for values that are already known to be safe: names in order, strings that are safe tokens and
// so need no escape, integers within ±(2^53−1). It writes the forms that are hashed often; a test holds it against the
// general encoder.
type canonical []byte

func (c canonical) text(name, s string) canonical {
	return append(append(append(append(c, name...), '"'), s...), '"')
}

// nullText writes null for an absent string.
func (c canonical) nullText(name, s string) canonical {
	if s == "" {
		return append(append(c, name...), "null"...)
	}
	return c.text(name, s)
}

func (c canonical) number(name string, n int64) canonical {
	return strconv.AppendInt(append(c, name...), n, 10)
}

func (c canonical) tokens(name string, list []Word) canonical {
	c = append(append(c, name...), '[')
	for i, s := range list {
		if i > 0 {
			c = append(c, ',')
		}
		c = c.text("", string(s))
	}
	return append(c, ']')
}

// withoutMember is an object without one of its members.
func withoutMember(raw jsontext.Value, name string) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(raw)), '{')
	for dec.PeekKind() == '"' {
		member, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		isIt := member.String() == name
		if !isIt && len(out) > 1 {
			out = append(out, ',')
		}
		if !isIt {
			out = append(strconv.AppendQuote(out, member.String()), ':')
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if !isIt {
			out = append(out, value...)
		}
	}
	return append(out, '}'), nil
}
