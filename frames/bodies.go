package frames

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

// notes is what reading a document showed beside its shape.
type notes struct {
	unknownAt []string
	bodies    []string
}

// read reads an open artifact with decode and notes what it carries besides.
func (n *notes) read(d *strictjson.Decoder, decode func()) {
	raw := d.Raw(func() { n.unknownAt = d.Artifact(decode) })
	if !d.Failed() {
		n.bodies = bodiesAt(raw)
	}
}

func (n notes) addTo(f *Findings) {
	f.AddUnknown(n.unknownAt)
	for _, at := range n.bodies {
		f.Add(V4Body, DocReuseV4, at)
	}
}

// isBody says whether a member of that name carries a frame's content: "content" is the wire's own name for it, the others
// are what else it gets called.
func isBody(name string) bool { return name == "content" || name == "body" || name == "text" }

// isVerifyMember says whether the name may stand in a pointer: a known member of the verify shapes.
func isVerifyMember(name string) bool {
	return name == "frames" || name == "verdicts" || name == "frame"
}

// bodiesAt finds, at any depth, the members of a well-formed verify document that carry frame bodies (context-reuse V4).
// The protocol ignores unknown members, but whoever stores the document would store them. A null carries nothing. The
// pointers name the nearest known place, each once for its run of bodies.
func bodiesAt(raw []byte) []string {
	s := bodyScan{dec: jsontext.NewDecoder(bytes.NewBuffer(raw))}
	s.value("", true)
	return s.found
}

type bodyScan struct {
	dec   *jsontext.Decoder
	found []string
}

// value reads one value that stands at the pointer; known says whether the pointer may grow.
func (s *bodyScan) value(at string, known bool) {
	switch s.dec.PeekKind() {
	case '{':
		s.object(at, known)
	case '[':
		s.token()
		for i := 0; s.dec.PeekKind() != ']' && s.dec.PeekKind() != 0; i++ {
			element := at
			if known {
				element += "/" + strconv.Itoa(i)
			}
			s.value(element, known)
		}
		s.token()
	default:
		s.token()
	}
}

func (s *bodyScan) object(at string, known bool) {
	s.token()
	for s.dec.PeekKind() == '"' {
		name := s.token()
		if isBody(name) && s.dec.PeekKind() != 'n' && (len(s.found) == 0 || s.found[len(s.found)-1] != at) {
			s.found = append(s.found, at)
		}
		member, grows := at, known && isVerifyMember(name)
		if grows {
			member += "/" + name
		}
		s.value(member, grows)
	}
	s.token()
}

// token reads a token of a document that a strict decoder has accepted; depth is bounded by it too.
func (s *bodyScan) token() string {
	tok, err := s.dec.ReadToken()
	if err != nil {
		return ""
	}
	return tok.String()
}
