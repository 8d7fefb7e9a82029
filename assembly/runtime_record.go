package assembly

// runtimeRow is what happened at one enabled position (section 3.5).
type runtimeRow struct {
	position int64
	source   Word // live or cache
	preEvent Word // "" is null
	request  *request
	attempts []attempt
	result   *result
	cache    *cachedResult
	late     []lateOutput
}

type request struct {
	id, correlation, turn, assembly, snapshot string
	position                                  int64
	binding                                   string
	operation                                 Word
	snapshotTime, deadline                    instant
	inputSet                                  string
	cues                                      []Word
	bounds                                    Bounds
	outputContract                            string
	policies                                  policyRevisions
}

type attempt struct {
	request, binding         string
	snapshotTime             instant
	inputSet, outputContract string
	startedAt, endedAt       instant
	end                      Word
	resultDigest             string // "" is null
}

type lateOutput struct {
	receivedAt   instant
	resultDigest string
}

type result struct {
	envelope      envelope
	contributions []contribution
}

type envelope struct {
	request, assembly, binding string
	items, bytes               int64
}

func (r reader) runtimeRow() (row runtimeRow) {
	r.Object(
		into("position", &row.position, r.count),
		into("source", &row.source, func() Word { return r.wordOf(live, cacheSource) }),
		into("pre_event", &row.preEvent, func() Word {
			return orNull(r, func() Word { return r.wordOf(startupFailed, unavailable) })
		}),
		into("request", &row.request, func() *request { return orNull(r, r.request) }),
		into("attempts", &row.attempts, func() []attempt { return list(r, r.attempt) }),
		into("result", &row.result, func() *result { return orNull(r, r.result) }),
		into("cache", &row.cache, func() *cachedResult { return orNull(r, r.cachedResult) }),
		into("late_outputs", &row.late, r.lateOutputs),
	)
	return row
}

func (r reader) request() *request {
	q := &request{}
	r.Object(
		into("request_id", &q.id, r.token),
		into("correlation_id", &q.correlation, r.token),
		into("turn_id", &q.turn, r.uuid),
		into("context_assembly_id", &q.assembly, r.token),
		into("snapshot_id", &q.snapshot, r.token),
		into("position", &q.position, r.count),
		into("provider_binding_id", &q.binding, r.token),
		into("operation", &q.operation, r.operation),
		into("snapshot_time", &q.snapshotTime, r.instant),
		into("deadline", &q.deadline, r.instant),
		into("input_set_digest", &q.inputSet, r.digest),
		into("cue_labels", &q.cues, r.wordList),
		into("bounds", &q.bounds, r.bounds),
		into("output_contract_digest", &q.outputContract, r.digest),
		into("policy_revisions", &q.policies, r.policyRevisions),
	)
	return q
}

func (r reader) attempt() (a attempt) {
	r.Object(
		into("request_id", &a.request, r.token),
		into("provider_binding_id", &a.binding, r.token),
		into("snapshot_time", &a.snapshotTime, r.instant),
		into("input_set_digest", &a.inputSet, r.digest),
		into("output_contract_digest", &a.outputContract, r.digest),
		into("started_at", &a.startedAt, r.instant),
		into("ended_at", &a.endedAt, r.instant),
		into("end", &a.end, func() Word {
			return r.wordOf(endResult, transportError, timeout, positionCancelled, parentCancelled)
		}),
		into("result_digest", &a.resultDigest, func() string { return orNull(r, r.digest) }),
	)
	return a
}

func (r reader) lateOutputs() []lateOutput {
	return list(r, func() (l lateOutput) {
		r.Object(into("received_at", &l.receivedAt, r.instant), into("result_digest", &l.resultDigest, r.digest))
		return l
	})
}

func (r reader) result() *result {
	v := &result{}
	r.Object(
		req("envelope", func() {
			r.Object(
				into("request_id", &v.envelope.request, r.token),
				into("context_assembly_id", &v.envelope.assembly, r.token),
				into("provider_binding_id", &v.envelope.binding, r.token),
				into("item_count", &v.envelope.items, r.count),
				into("byte_count", &v.envelope.bytes, r.count),
			)
		}),
		into("contributions", &v.contributions, r.contributions),
	)
	return v
}
