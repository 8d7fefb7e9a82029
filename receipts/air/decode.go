package air

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds on a bundle, checked before any other work. A document over one of them is refused where the bound is
// crossed: the rest is not read, and the finding of that bound is the only one.
const (
	MaxBundleBytes = 262144 // R002; also bounds a policy (R120)
	MaxKeys        = 32     // verification_keys, R050
	MaxNotaries    = 16     // trust_statement.notaries, R030
	MaxSignatures  = 16     // notary_quorum.signatures, R082
	MaxFeatures    = 16     // service_features, R104
	MaxEntries     = 16     // multi_operator_inclusion.entries, R111
	MaxDepth       = 32     // nesting, R001; the profile itself needs 5

	// maxStray bounds the JSON tokens in places where the profile has none, so that junk costs little. Crossing it
	// breaks the shape rule of the place.
	maxStray = 1024
)

// decoder reads a document once, front to back, and notes every broken shape instead of stopping at the first. Only
// bytes that are no strict JSON, or a crossed bound, stop it.
type decoder struct {
	src     string
	json    *jsontext.Decoder
	steps   []step
	found   []Finding
	stray   int
	inexact bool // a number was no safe integer
	stopped bool
}

// step is one open object or array: the rule that its broken shape breaks, and where in it the decoder is.
type step struct {
	rule  Rule
	name  string // the open known member; "" when none is, and in an array
	index int    // the open element; -1 in an object
}

func newDecoder(src []byte) *decoder {
	return &decoder{
		src:   string(src), // one copy: every text below is a part of it, and the caller's bytes are not kept
		json:  jsontext.NewDecoder(bytes.NewBuffer(src)),
		steps: make([]step, 0, 8),
	}
}

func (d *decoder) path() string {
	var b strings.Builder
	for _, s := range d.steps {
		if s.name == "" && s.index < 0 {
			break
		}
		if s.name != "" {
			b.WriteString("/" + s.name)
			continue
		}
		b.WriteString(in("", s.index, "").String())
	}
	return b.String()
}

// note records a broken shape at the current place.
func (d *decoder) note(rule Rule) {
	if !d.stopped {
		d.found = append(d.found, finding(rule, d.path()))
	}
}

// stop ends the reading. What was found before is dropped: it came from a document that was not examined to its end.
func (d *decoder) stop(rule Rule) {
	if !d.stopped {
		d.found = []Finding{finding(rule, d.path())}
		d.stopped = true
	}
}

// finish demands that nothing but white space follows the document.
func (d *decoder) finish() {
	if _, err := d.json.ReadToken(); !errors.Is(err, io.EOF) {
		d.stop(R001)
	}
}

func (d *decoder) peek(kind jsontext.Kind) bool { return !d.stopped && d.json.PeekKind() == kind }

// value reads one scalar or member name and returns its text in the source.
func (d *decoder) value() string {
	v, err := d.json.ReadValue()
	if err != nil {
		d.stop(R001)
		return ""
	}
	end := int(d.json.InputOffset())
	return d.src[end-len(v) : end]
}

// quoted reads a string or member name.
func (d *decoder) quoted() string {
	v := d.value()
	if d.stopped {
		return ""
	}
	if strings.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		d.stop(R001)
	}
	return string(b)
}

// skip reads over a value where the profile has none.
func (d *decoder) skip() {
	for depth := d.json.StackDepth(); !d.stopped; {
		tok, err := d.json.ReadToken()
		d.stray++
		switch {
		case err != nil || d.json.StackDepth() > MaxDepth:
			d.stop(R001)
		case d.stray > maxStray:
			d.stop(d.rule())
		case tok.Kind() == '0':
			d.integer(tok.String())
		}
		if d.json.StackDepth() <= depth {
			return
		}
	}
}

// rule is the shape rule of the innermost open place.
func (d *decoder) rule() Rule {
	if len(d.steps) == 0 {
		return R001
	}
	return d.steps[len(d.steps)-1].rule
}

// integer reads a number literal and remembers if it is not one that the profile can canonicalise.
func (d *decoder) integer(literal string) (int64, bool) {
	n, ok := safeInteger(literal)
	if !ok {
		d.inexact = true
	}
	return n, ok
}
