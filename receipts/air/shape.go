package air

import "github.com/go-json-experiment/json/jsontext"

// text is a member that should be a string. A value of another type is set but not ok.
type text struct {
	s       string
	set, ok bool
}

// is says whether the member is a string that the test accepts.
func (t text) is(accepts func(string) bool) bool { return t.ok && accepts(t.s) }

// number is a member that should be an integer.
type number struct {
	n       int64
	set, ok bool
}

// upTo says whether the member is an integer from 0 to max.
func (n number) upTo(max int64) bool { return n.ok && 0 <= n.n && n.n <= max }

// form is what is known of a member that should be an object.
type form struct {
	set    bool // the member is there
	null   bool // and is null, which only a proof slot may be
	object bool // and is an object
	closed bool // and has exactly the members of its shape
}

func (d *decoder) text() text {
	if !d.peek('"') {
		d.skip()
		return text{set: true}
	}
	return text{d.quoted(), true, true}
}

func (d *decoder) number() number {
	if !d.peek('0') {
		d.skip()
		return number{set: true}
	}
	n, ok := d.integer(d.value())
	return number{n, true, ok}
}

// null consumes a null if there is one.
func (d *decoder) null() bool {
	if !d.peek('n') {
		return false
	}
	d.value()
	return true
}

// begin enters an object or array; a value of another type breaks the rule and is read over.
func (d *decoder) begin(kind jsontext.Kind, rule Rule) bool {
	if d.stopped {
		return false
	}
	if !d.peek(kind) {
		d.skip()
		d.note(rule)
		return false
	}
	if _, err := d.json.ReadToken(); err != nil {
		d.stop(R001)
		return false
	}
	d.steps = append(d.steps, step{rule: rule, index: -1})
	return true
}

// end leaves the object or array that begin entered.
func (d *decoder) end() { d.steps = d.steps[:len(d.steps)-1] }

func (d *decoder) top() *step { return &d.steps[len(d.steps)-1] }

// more says whether the open object or array goes on, and consumes its end when it does not.
func (d *decoder) more(end jsontext.Kind) bool {
	if d.stopped {
		return false
	}
	if !d.peek(end) {
		return true
	}
	if _, err := d.json.ReadToken(); err != nil {
		d.stop(R001)
	}
	return false
}

// object iterates over the members of an object:
//
//	for o := d.object(rule); o.next(); {
//		switch o.name { … default: o.unknown() }
//	}
type object struct {
	d     *decoder
	form  form
	name  string
	known int
	stray bool
}

func (d *decoder) object(rule Rule) object {
	ok := d.begin('{', rule)
	return object{d: d, form: form{set: true, object: ok}}
}

// slot is an object that may be null, as each proof slot is (seed §3): a null has no members to iterate over.
func (d *decoder) slot(rule Rule) object {
	if d.null() {
		return object{d: d, form: form{set: true, null: true}}
	}
	return d.object(rule)
}

// next reads the name of the next member. Names are unique, which jsontext sees to.
func (o *object) next() bool {
	d := o.d
	if !o.form.object {
		return false
	}
	d.top().name = "" // a faulty or repeated name is the parent's fault, and is not echoed
	if !d.more('}') {
		return false
	}
	if !d.peek('"') { // no name can come here: reading it tells
		d.value()
		d.stop(R001)
		return false
	}
	o.name = d.quoted()
	if d.stopped {
		return false
	}
	d.top().name = o.name
	o.known++
	return true
}

// unknown reads over a member that the shape has not. The path then stops at the object.
func (o *object) unknown() {
	o.d.top().name = ""
	o.known--
	o.stray = true
	o.d.skip()
}

// close ends the object, whose shape has want members, and notes a broken shape.
func (o *object) close(want int) form {
	d := o.d
	if !o.form.object {
		return o.form
	}
	rule := d.top().rule
	d.end()
	if o.form.closed = !o.stray && o.known == want; !o.form.closed {
		d.note(rule)
	}
	return o.form
}

// each calls read for the elements of an array of at most max, and stops the decoder at the first one more. It says
// whether there was an array.
func (d *decoder) each(rule Rule, max int, read func()) bool {
	if !d.begin('[', rule) {
		return false
	}
	for i := 0; d.more(']'); i++ {
		if i == max {
			d.top().index = -1 // the list is at fault, not an element
			d.stop(rule)
			break
		}
		d.top().index = i
		read()
	}
	d.end()
	return true
}

// texts reads an array of at most max strings; an element of another type comes out not ok.
func (d *decoder) texts(rule Rule, max int) (list []text, ok bool) {
	ok = d.each(rule, max, func() {
		if list == nil {
			list = make([]text, 0, max)
		}
		list = append(list, d.text())
	})
	return list, ok
}
