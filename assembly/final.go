package assembly

import (
	"encoding/json"
	"errors"
)

// The contract's "Budgeting, rendering, and final truncation", final order; section 6.8, C0-R750 … C0-R790.

// Final is the outcome of final truncation.
type Final struct {
	SizeBefore Size      `json:"size_before"`
	SizeAfter  Size      `json:"size_after"`
	Removed    []Removal `json:"removed"`
	Result     Word      `json:"result"`
}

// Removal is one part that was left out, and the step of the contract's order that did it.
type Removal struct {
	Step int  `json:"step"`
	Part Part `json:"ref"`
}

// Part names a part of the model input: a tool result or a transcript unit by name, a contribution by position and ordinal.
type Part struct {
	Kind Word
	Name string
	Ref  Ref
}

// The kinds of parts.
const (
	aToolResult     Word = "tool_result"
	aContribution   Word = "contribution"
	aTranscriptUnit Word = "transcript_unit"
)

// MarshalJSON writes ["tool_result", ref], ["contribution", position, ordinal] or ["transcript_unit", unit].
func (p Part) MarshalJSON() ([]byte, error) {
	if p.Kind == aContribution {
		return json.Marshal([]any{p.Kind, p.Ref[0], p.Ref[1]})
	}
	return json.Marshal([]any{p.Kind, p.Name})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Part) UnmarshalJSON(src []byte) error {
	*p = Part{}
	var rest []json.RawMessage
	if err := json.Unmarshal(src, &rest); err != nil {
		return err
	}
	fields := []any{&p.Kind, &p.Name}
	if len(rest) == 3 {
		fields = []any{&p.Kind, &p.Ref[0], &p.Ref[1]}
	}
	if len(rest) != len(fields) {
		return errors.New("a part is a kind and a name, or a kind, a position and an ordinal")
	}
	for i, field := range fields {
		if err := json.Unmarshal(rest[i], field); err != nil {
			return err
		}
	}
	return nil
}

// sizedPiece is an included contribution with its size after wrapper and redaction.
type sizedPiece struct {
	ref         Ref
	size        Size
	isProtected bool
}

// truncation runs the final order.
type truncation struct {
	in      *finalInput
	size    Size
	actions int // removals so far, the tool results counting as one
	final   Final
	known   bool // false once a measurement is missing
}

// truncate removes nothing protected, and nothing more once the input fits. It is not known when a whole size that the
// kernel had to measure is missing.
func truncate(in *finalInput, pieces []sizedPiece) (final Final, known bool) {
	t := truncation{in: in, known: true, final: Final{Removed: []Removal{}}}
	t.size = in.fixed
	for i := range pieces {
		t.size = t.size.plus(pieces[i].size)
	}
	for i := range in.toolResults {
		t.size = t.size.plus(in.toolResults[i].size)
	}
	for i := range in.units {
		t.size = t.size.plus(in.units[i].size)
	}
	t.measure()
	t.final.SizeBefore = t.size
	if t.isOver() {
		t.pruneToolResults()
		t.omitOptional(pieces)
		t.reduceTranscript()
	}
	t.final.SizeAfter = t.size
	switch t.final.Result = fits; {
	case !t.isOver():
	case in.canCompact: // step 4
		t.final.Result = rebuild
	default: // step 5
		t.final.Result = Overflow
	}
	return t.final, t.known
}

func (t *truncation) isOver() bool {
	c := t.in.ceiling
	return t.size.Tokens > c.tokens || c.bytes.set && t.size.Bytes > c.bytes.n
}

// measure takes the size from the kernel's measurement of the k-th action instead of adding up.
func (t *truncation) measure() {
	if !t.in.isMeasured {
		return
	}
	if t.actions >= len(t.in.measured) {
		t.known = false
		return
	}
	t.size = t.in.measured[t.actions]
}

func (t *truncation) remove(step int, part Part, size Size) {
	t.final.Removed = append(t.final.Removed, Removal{step, part})
	t.size = t.size.minus(size)
}

func (t *truncation) acted() {
	t.actions++
	t.measure()
}

// pruneToolResults removes every old one at once (step 1).
func (t *truncation) pruneToolResults() {
	before := len(t.final.Removed)
	for _, r := range t.in.toolResults {
		if !r.isProtected && r.messageIndex < t.in.messageCount-t.in.keepLast {
			t.remove(1, Part{Kind: aToolResult, Name: r.ref}, r.size)
		}
	}
	if len(t.final.Removed) > before {
		t.acted()
	}
}

// omitOptional removes whole contributions from the last position and ordinal backward (step 2).
func (t *truncation) omitOptional(pieces []sizedPiece) {
	for i := len(pieces) - 1; i >= 0 && t.isOver() && t.known; i-- {
		if p := pieces[i]; !p.isProtected {
			t.remove(2, Part{Kind: aContribution, Ref: p.ref}, p.size)
			t.acted()
		}
	}
}

// reduceTranscript removes the oldest unprotected units (step 3).
func (t *truncation) reduceTranscript() {
	for _, u := range t.in.units {
		if !t.isOver() || !t.known {
			return
		}
		if !u.isProtected {
			t.remove(3, Part{Kind: aTranscriptUnit, Name: u.name}, u.size)
			t.acted()
		}
	}
}
