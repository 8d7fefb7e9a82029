package strictjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one row of an object's shape: a known name, whether it must be present, and what reads its value.
type Member struct {
	name     string
	required bool
	read     func()
}

// Req is a member that must be present.
func Req(name string, read func()) Member { return Member{name, true, read} }

// Opt is a member that may be absent. Whether null may stand for absent is its reader's decision.
func Opt(name string, read func()) Member { return Member{name, false, read} }

// Object reads an object of the given members.
func (d *Decoder) Object(members ...Member) {
	if !d.open('{', "an object is required") {
		return
	}
	var seen uint64 // one bit a member; no shape comes near 64
	hasUnknown := false
	for d.err == nil && d.dec.PeekKind() != '}' {
		i, ok := d.member(members)
		if !ok {
			return
		}
		if i < 0 {
			d.unknownMember(!hasUnknown)
			hasUnknown = true
			continue
		}
		if seen&(1<<i) != 0 { // in a wrapper only: else jsontext has refused it
			d.Fail(RuleDuplicate, "the object has a member twice")
			return
		}
		seen |= 1 << i
		back := d.enter(members[i].name)
		members[i].read()
		d.path = d.path[:back]
	}
	if d.err != nil {
		return
	}
	if _, ok := d.token(); !ok {
		return
	}
	for i, m := range members {
		if m.required && seen&(1<<i) == 0 {
			d.Fail(RuleMissing, "the member "+m.name+" is required")
			return
		}
	}
}

// member reads a member's name and finds it in the table: -1 for one that is not there. Most names are spelt without
// escapes and are compared where they stand.
func (d *Decoder) member(members []Member) (i int, ok bool) {
	if d.dec.PeekKind() != '"' {
		d.token() // a syntax error; token records it
		d.Fail(RuleSyntax, "a member's name is required")
		return 0, false
	}
	quoted, err := d.dec.ReadValue()
	if err != nil {
		d.syntax(err)
		return 0, false
	}
	if i = find(members, quoted[1:len(quoted)-1]); i >= 0 || bytes.IndexByte(quoted, '\\') < 0 {
		return i, true
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		d.syntax(err)
		return 0, false
	}
	return find(members, name), true
}

// find looks a name up in the table; no name there has what JSON escapes.
func find(members []Member, name []byte) int {
	for i := range members {
		if string(name) == members[i].name {
			return i
		}
	}
	return -1
}

// unknownMember reads over a member that no table names; first says that it is the object's first one.
func (d *Decoder) unknownMember(first bool) {
	if d.mode == Closed {
		d.Fail(RuleUnknown, "the object has a member that is not known here (names are case-sensitive)")
		return
	}
	if first {
		d.unknown = append(d.unknown, d.Pointer())
	}
	d.Skip()
}

// Map reads an object whose names are data, calling value with each name in turn. The names are the sender's, so a pointer
// below the map names the map.
func (d *Decoder) Map(value func(name string)) {
	if !d.open('{', "an object is required") {
		return
	}
	seen := map[string]bool{}
	for d.err == nil && d.dec.PeekKind() != '}' {
		tok, ok := d.token()
		if !ok {
			return
		}
		name := tok.String()
		if seen[name] { // in a wrapper only, as in Object
			d.Fail(RuleDuplicate, "the object has a member twice")
			return
		}
		seen[name] = true
		value(name)
	}
	d.token()
}

// Array reads an array, calling elem for each element in turn.
func (d *Decoder) Array(elem func(i int)) {
	if !d.open('[', "an array is required") {
		return
	}
	for i := 0; d.err == nil && d.dec.PeekKind() != ']'; i++ {
		back := len(d.path)
		d.path = strconv.AppendInt(append(d.path, '/'), int64(i), 10)
		elem(i)
		d.path = d.path[:back]
	}
	if d.err == nil {
		d.token()
	}
}

func (d *Decoder) open(kind jsontext.Kind, want string) bool {
	if d.err != nil {
		return false
	}
	if d.dec.StackDepth() >= MaxDepth {
		d.Fail(RuleDepth, "nesting is deeper than 128")
		return false
	}
	return d.expect(kind, want)
}

// expect consumes one token of the given kind.
func (d *Decoder) expect(kind jsontext.Kind, want string) bool {
	if !d.next(kind, want) {
		return false
	}
	_, ok := d.token()
	return ok
}

// next says whether the next token is of the given kind, and records the fitting error when it is not.
func (d *Decoder) next(kind jsontext.Kind, want string) bool {
	if d.err != nil {
		return false
	}
	switch d.dec.PeekKind() {
	case kind:
		return true
	case 'n':
		if _, ok := d.token(); ok {
			d.Fail(RuleNull, want+", null is not allowed")
		}
	case 0, '}', ']':
		d.token() // a syntax error; token records it
		d.Fail(RuleSyntax, want)
	default:
		d.Fail(RuleType, want)
	}
	return false
}
