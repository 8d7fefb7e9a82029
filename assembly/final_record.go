package assembly

import "ledgerd/internal/strictjson"

// finalInput are the inputs of final truncation (section 3.7). The contributions come from the merge.
type finalInput struct {
	ceiling      finalLimits
	isMeasured   bool
	fixed        Size // all protected kernel material, schemas, user content, checkpoint, pending state, overhead
	toolResults  []toolResult
	units        []transcriptUnit // oldest first
	messageCount int64
	keepLast     int64
	canCompact   bool // its preconditions are met and the deadline allows it
	measured     []Size
}

type toolResult struct {
	ref          string
	messageIndex int64
	size         Size
	isProtected  bool
}

type transcriptUnit struct {
	name        string
	size        Size
	isProtected bool
}

func (r reader) finalInput() (f finalInput) {
	r.Object(r.finalMembers(&f)...)
	return f
}

func (r reader) finalMembers(f *finalInput) []member {
	return []member{
		into("ceiling", &f.ceiling, r.finalLimits),
		into("size_model", &f.isMeasured, func() bool { return r.wordOf("additive", "measured") == "measured" }),
		into("fixed", &f.fixed, r.size),
		into("tool_results", &f.toolResults, func() []toolResult { return list(r, r.toolResult) }),
		into("transcript_units", &f.units, func() []transcriptUnit { return list(r, r.transcriptUnit) }),
		req("pruning", func() {
			r.Object(into("message_count", &f.messageCount, r.count), into("keep_last_messages", &f.keepLast, r.count))
		}),
		req("compaction", func() {
			var isMet, isAllowed bool
			r.Object(into("preconditions_met", &isMet, r.Bool), into("deadline_allows", &isAllowed, r.Bool))
			f.canCompact = isMet && isAllowed
		}),
		opt("measured", func() { f.measured = list(r, r.size) }),
	}
}

func (r reader) toolResult() (t toolResult) {
	r.Object(
		into("ref", &t.ref, r.token),
		into("message_index", &t.messageIndex, r.count),
		into("tokens", &t.size.Tokens, r.count),
		into("bytes", &t.size.Bytes, r.count),
		into("protected", &t.isProtected, r.Bool),
	)
	return t
}

func (r reader) transcriptUnit() (u transcriptUnit) {
	r.Object(
		into("unit", &u.name, r.token),
		into("tokens", &u.size.Tokens, r.count),
		into("bytes", &u.size.Bytes, r.count),
		into("protected", &u.isProtected, r.Bool),
	)
	return u
}

func (r reader) final() *Final {
	return orNull(r, func() *Final {
		f := &Final{}
		r.Object(
			into("size_before", &f.SizeBefore, r.size),
			into("size_after", &f.SizeAfter, r.size),
			into("removed", &f.Removed, r.removals),
			into("result", &f.Result, func() Word { return r.wordOf(fits, rebuild, Overflow) }),
		)
		return f
	})
}

func (r reader) removals() []Removal {
	return list(r, func() (m Removal) {
		r.Object(
			req("step", func() {
				if m.Step = int(min(r.count(), 4)); !r.Failed() && (m.Step < 1 || m.Step > 3) {
					r.Fail(strictjson.RuleValue, "a removal is of step 1, 2 or 3")
				}
			}),
			into("ref", &m.Part, r.part),
		)
		return m
	})
}

// part reads a kind and a name, or a kind and the two numbers of a contribution.
func (r reader) part() (p Part) {
	n := 0
	r.Array(func(i int) {
		switch n++; {
		case i == 0:
			p.Kind = r.wordOf(aToolResult, aContribution, aTranscriptUnit)
		case p.Kind == aContribution && i <= len(p.Ref):
			p.Ref[i-1] = r.count()
		case p.Kind != aContribution && i == 1:
			p.Name = r.token()
		default:
			r.Fail(strictjson.RuleValue, "a part has too many elements")
		}
	})
	if want := map[bool]int{true: 3, false: 2}[p.Kind == aContribution]; !r.Failed() && n != want {
		r.Fail(strictjson.RuleValue, "a part has too few elements")
	}
	return p
}
