package assembly

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

// maxForbidden bounds how many places a refusal names.
const maxForbidden = 100

var (
	errDeep   = errors.New("nesting is too deep to follow")
	errEnough = errors.New("enough places were found")
)

// Forbidden lists where a JSON document has what a ledger must not store: a member of the deny list, a string that is no
// safe token, a fraction ("Privacy, redaction, and observability"; C0-R020). The places are JSON pointers, sorted, at most
// 100; a pointer ends above a name that the sender chose, since neither a value nor an unknown name may be echoed. What is
// not well-formed is read as far as it is.
func Forbidden(src []byte) []string {
	s := scanner{dec: jsontext.NewDecoder(bytes.NewBuffer(src)), found: []string{}}
	_ = s.value(spot{}) // ends early where the syntax does, which the strict parser reports
	slices.Sort(s.found)
	return slices.Compact(s.found)
}

// spot is a place in a document, as far as it may be named.
type spot struct {
	steps  []string
	frozen bool // below a name that is not ours
}

func (p spot) index(i int) spot { return p.step(strconv.Itoa(i), true) }

func (p spot) member(name string) spot { return p.step(name, isMember(name) || isForbidden(name)) }

func (p spot) step(step string, ours bool) spot {
	if p.frozen = p.frozen || !ours; !p.frozen {
		p.steps = append(p.steps, step)
	}
	return p
}

type scanner struct {
	dec   *jsontext.Decoder
	found []string
}

func (s *scanner) note(p spot) error {
	at := ""
	if len(p.steps) > 0 {
		at = "/" + strings.Join(p.steps, "/")
	}
	if s.found = append(s.found, at); len(s.found) == maxForbidden {
		return errEnough
	}
	return nil
}

func (s *scanner) value(p spot) error {
	tok, err := s.dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case '{':
		return s.object(p)
	case '[':
		return s.array(p)
	case '"':
		if !isSafe(tok.String()) {
			return s.note(p)
		}
	case '0':
		if strings.ContainsAny(tok.String(), ".eE") {
			return s.note(p)
		}
	}
	return nil
}

func (s *scanner) array(p spot) error {
	if s.dec.StackDepth() > strictjson.MaxDepth {
		return errDeep
	}
	for i := 0; ; i++ {
		switch s.dec.PeekKind() {
		case ']', 0: // 0 is a syntax error, which the next token has
			_, err := s.dec.ReadToken()
			return err
		}
		if err := s.value(p.index(i)); err != nil {
			return err
		}
	}
}

func (s *scanner) object(p spot) error {
	if s.dec.StackDepth() > strictjson.MaxDepth {
		return errDeep
	}
	for s.dec.PeekKind() == '"' {
		tok, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		name := tok.String()
		if isForbidden(name) {
			if err := s.note(p.member(name)); err != nil {
				return err
			}
			if err := s.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := s.value(p.member(name)); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}
