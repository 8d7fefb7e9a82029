package assembly

import "strconv"

// The contract's "Deadlines, cancellation, failure, and recovery" and "Contribution result": from what happened at a
// position to its event (section 4, steps 4 and 5).

// invoke checks what the kernel did at every seat and derives its event.
func (v *verifier) invoke() {
	v.seatRows()
	for i := range v.seats {
		s := &v.seats[i]
		if s.rowAt == "" {
			v.lack("/positions")
			continue
		}
		v.checkRequest(s)
		in := v.conduct(s)
		got := in.judge()
		for _, rule := range got.fault {
			v.findings = append(v.findings, Finding{rule, s.placeOf(rule)})
		}
		v.checkUnused(s, got)
		v.judgeCache(s)
		s.event = v.eventOf(s, got)
	}
}

// seatRows gives every seat its runtime row: exactly one each, in any order, so that nothing is left out or promoted
// (C0-R665).
func (v *verifier) seatRows() {
	isOneEach := len(v.rec.rows) == len(v.seats)
	for i := range v.rec.rows {
		row := &v.rec.rows[i]
		s := v.at(row.position)
		if s == nil || s.rowAt != "" {
			isOneEach = false
			continue
		}
		s.row, s.rowAt = row, "/positions/"+strconv.Itoa(i)
	}
	v.unless(isOneEach, R665, "/positions")
}

func (v *verifier) conduct(s *seat) conductInput {
	return conductInput{
		deadline: s.planned.deadline, reserveMS: v.rec.plan.reserveMS, parent: v.rec.parent, binding: s.binding.id,
		request: s.row.request, attempts: s.row.attempts, late: s.row.late,
		retry: s.rule.retry, isIdempotent: s.binding.isIdempotent,
	}
}

// placeOf is where a broken rule of conduct shows.
func (s *seat) placeOf(rule Rule) string {
	switch rule {
	case R445:
		return s.plannedAt + "/deadline"
	case R460:
		return s.rowAt + "/late_outputs"
	}
	return s.rowAt + "/attempts"
}

// checkUnused: no request where none is allowed (C0-R390), and no result that came too late or not at all (C0-R460).
func (v *verifier) checkUnused(s *seat, got invocation) {
	if s.allocation.Skip || !s.isEligible || v.isClosed {
		v.unless(s.row.request == nil, R390, s.rowAt, "/request")
		v.unless(len(s.row.attempts) == 0, R390, s.rowAt, "/attempts")
	}
	arrived := got.event == endResult || got.event == invalidResult
	v.unless(s.row.result == nil || arrived, R460, s.rowAt, "/result")
}

// eventOf is the first match of section 4.
func (v *verifier) eventOf(s *seat, got invocation) Word {
	switch {
	case s.allocation.Skip:
		return budgetSkip
	case !s.isEligible:
		return ineligible
	case s.row.preEvent != "":
		return s.row.preEvent
	case s.row.source == cacheSource:
		return s.cacheEvent()
	case got.event == "":
		v.lack(s.rowAt, "/attempts")
		return ""
	case got.event != endResult:
		return got.event
	case s.row.result == nil:
		v.lack(s.rowAt, "/result")
		return ""
	}
	return v.resultEvent(s)
}

// resultEvent validates the result that arrived and assesses its contributions.
func (v *verifier) resultEvent(s *seat) Word {
	res := s.row.result
	got := validate(v.resultRule(s), res)
	if got.status != resultOK && got.status != partialResult {
		return got.status
	}
	last := s.row.attempts[len(s.row.attempts)-1]
	s.pieces = v.assess(s, res.contributions, last.endedAt)
	if event := s.rule.eventOf(s.pieces); event != "" {
		return event
	}
	return got.status
}

func (v *verifier) resultRule(s *seat) resultRule {
	rule := resultRule{
		isRequired: s.isRequired(), slots: s.rule.slots, sources: s.rule.sources, emptySuccess: s.rule.emptySuccess,
		allocation: s.allocation.Bounds, assembly: v.rec.id.AssemblyID, binding: s.binding.id,
	}
	if s.row.request != nil {
		rule.request = s.row.request.id
	}
	return rule
}
