package assembly

// The contract's "Deadlines, cancellation, failure, and recovery", invocation and transport retry; C0-R445 … C0-R490.

// parentTurn is the turn that an assembly is made for.
type parentTurn struct {
	deadline    instant
	cancelledAt instant
	settledAt   instant
}

// cancelled says whether the parent was cancelled at or before settlement (C0-R465).
func (p parentTurn) cancelled() bool {
	return p.cancelledAt.set && !p.cancelledAt.after(p.settledAt)
}

// isOver says whether the parent's cancellation reached an instant: from then on every result is late.
func (p parentTurn) isOver(t instant) bool { return p.cancelled() && !p.cancelledAt.after(t) }

// conductInput is what the kernel did at one position.
type conductInput struct {
	deadline  instant // of the position
	reserveMS int64
	parent    parentTurn
	request   *request // nil when none was sent
	binding   string   // that the snapshot has bound
	attempts  []attempt
	late      []lateOutput
	retry     retryRule
	// isIdempotent: the provider proved that a request can be repeated.
	isIdempotent bool
}

// invocation is what follows from the attempts.
type invocation struct {
	event  Word // result when one arrived in time, "" when there is no attempt to derive it from
	isLate bool // the last attempt's result was
	fault  broken
}

// judge derives the event of the attempts and the rules that the kernel broke in making them.
func (in conductInput) judge() (v invocation) {
	v.fault.unless(!in.deadline.plus(in.reserveMS).after(in.parent.deadline), R445)
	in.judgeRetries(&v.fault)
	for i := range in.attempts {
		in.judgeAttempt(&v.fault, &in.attempts[i])
	}
	for _, l := range in.late {
		v.fault.unless(in.isLate(l.receivedAt), R460)
	}
	v.event, v.isLate = in.event()
	return v
}

func (in conductInput) judgeAttempt(b *broken, a *attempt) {
	b.unless(a.binding == in.binding, R490)
	q := in.request
	if q == nil {
		b.unless(false, R480)
		return
	}
	b.unless(a.request == q.id && a.snapshotTime.equal(q.snapshotTime) && a.inputSet == q.inputSet &&
		a.outputContract == q.outputContract, R480)
	b.unless(!a.startedAt.after(in.deadline), R484)
	b.unless(a.end != parentCancelled || in.parent.cancelled(), R465)
}

func (in conductInput) judgeRetries(b *broken) {
	if len(in.attempts) == 0 {
		return
	}
	retries := in.attempts[1:]
	b.unless(int64(len(retries)) <= in.retry.max, R475)
	b.unless(len(retries) == 0 || in.isIdempotent, R484)
	for i, a := range retries {
		before := in.attempts[i]
		b.unless(before.end == transportError, R486)
		if i < len(in.retry.backoff) { // without a backoff there is no such retry, which C0-R475 says
			b.unless(!before.endedAt.plus(in.retry.backoff[i]).after(a.startedAt), R482)
		}
	}
}

// event is what the last attempt came to. A result at the deadline itself is in time (C0-R450), one at the instant of the
// parent's cancellation is not (C0-R465).
func (in conductInput) event() (event Word, isLate bool) {
	if len(in.attempts) == 0 {
		if in.parent.cancelled() {
			return parentCancelled, false
		}
		return "", false
	}
	last := in.attempts[len(in.attempts)-1]
	switch last.end {
	case transportError:
		return transportFailed, false
	case endResult:
	default:
		return last.end, false
	}
	isOverdue := last.endedAt.after(in.deadline)
	switch {
	case isOverdue && (!in.parent.cancelled() || in.parent.cancelledAt.after(in.deadline)): // before any cancellation
		return timeout, true
	case in.parent.isOver(last.endedAt):
		return parentCancelled, true
	case !in.agree():
		return invalidResult, false
	}
	return endResult, false
}

// agree: all result digests of one request are equal (C0-R488). A late output was discarded, so it says nothing here.
func (in conductInput) agree() bool {
	first := ""
	for _, a := range in.attempts {
		if first == "" {
			first = a.resultDigest
		}
		if a.resultDigest != "" && a.resultDigest != first {
			return false
		}
	}
	return true
}

// isLate: after the position's deadline, or once the parent or the position was cancelled (C0-R460).
func (in conductInput) isLate(t instant) bool {
	if t.after(in.deadline) || in.parent.isOver(t) {
		return true
	}
	if len(in.attempts) == 0 {
		return false
	}
	last := in.attempts[len(in.attempts)-1]
	return last.end == positionCancelled && !last.endedAt.after(t)
}

func (r reader) parentTurn() (p parentTurn) {
	r.Object(
		into("deadline", &p.deadline, r.instant),
		into("cancelled_at", &p.cancelledAt, func() instant { return orNull(r, r.instant) }),
		into("settled_at", &p.settledAt, r.instant),
	)
	return p
}
