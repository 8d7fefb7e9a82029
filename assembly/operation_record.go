package assembly

// The record_version of the two other operations.
const (
	CompactionVersion = "c0.compaction.v1"
	RecoveryVersion   = "c0.recovery.v1"
)

// Compaction is a compaction operation as recorded: of the right shape, nothing more.
type Compaction struct {
	in       compactionInput
	recorded []recordedMember
}

// ParseCompaction reads a compaction operation: record_version, operation, event, parent_cancelled, proposal, and in report
// the recorded outcome. The error is a *RecordError.
func ParseCompaction(src []byte) (*Compaction, error) {
	return parse(src, func(r reader) *Compaction {
		c := &Compaction{}
		r.Object(append(r.compactionMembers(&c.in),
			req("record_version", func() { r.wordOf(CompactionVersion) }),
			into("report", &c.recorded, r.compactionReport),
		)...)
		return c
	})
}

// OperationID is the compaction_operation_id.
func (c *Compaction) OperationID() string { return c.in.operation.id }

// PinnedRevisionID is the profile revision that the operation says is pinned to its turn.
func (c *Compaction) PinnedRevisionID() string { return c.in.operation.pinnedRevision }

// Recovery is the recovery of a durable turn as recorded: of the right shape, nothing more.
type Recovery struct {
	in       recoveryInput
	recorded []recordedMember
}

// ParseRecovery reads a recovery: record_version, the members of the operation, and in report the recorded outcome. The
// error is a *RecordError.
func ParseRecovery(src []byte) (*Recovery, error) {
	return parse(src, func(r reader) *Recovery {
		c := &Recovery{}
		r.Object(append(r.recoveryMembers(&c.in),
			req("record_version", func() { r.wordOf(RecoveryVersion) }),
			into("report", &c.recorded, r.recoveryReport),
		)...)
		return c
	})
}

// TurnSnapshot is the id and the digest of the turn's snapshot that the recovery names.
func (c *Recovery) TurnSnapshot() (id, digest string) { return c.in.turn.id, c.in.turn.digest }

// keep reads a member of a recorded outcome and keeps its text, which is compared in canonical form.
func (r reader) keep(all *[]recordedMember, row func(string, func()) member, name string, read func()) member {
	return row(name, func() {
		*all = append(*all, recordedMember{name, r.Raw(read)})
	})
}

// discard reads a value of which only its text is needed.
func discard[T any](read func() T) func() { return func() { read() } }

func (r reader) compactionReport() (all []recordedMember) {
	optToken := discard(func() string { return orNull(r, r.token) })
	optCode := discard(r.code)
	keep := func(name string, read func()) member { return r.keep(&all, req, name, read) }
	r.Object(
		keep("proposal_status", func() { r.wordOf(accepted, rejected, "absent") }),
		keep("reasons", discard(r.wordList)),
		r.keep(&all, opt, "broken", discard(r.wordList)),
		keep("proposal_code", optCode),
		keep("action", func() { r.wordOf("commit_proposal", "commit_fallback", "no_commit", "fail_closed", Cancelled) }),
		keep("reason", optToken),
		keep("code", optCode),
		keep("state_advanced", discard(r.Bool)),
		keep("compacted_through_message_id", optToken),
		keep("recent_message_ids", discard(r.tokenList)),
		keep("pending_state_digest", discard(r.digest)),
		keep("transcript_digest", discard(r.digest)),
	)
	return all
}

func (r reader) recoveryReport() (all []recordedMember) {
	r.Object(
		r.keep(&all, opt, "conformant", discard(r.Bool)),
		r.keep(&all, opt, "broken", discard(r.wordList)),
		r.keep(&all, req, "code", discard(r.code)),
		r.keep(&all, req, "positions", func() {
			r.Array(func(int) {
				r.Object(
					req("position", discard(r.count)),
					req("route", func() { r.wordOf("replay", "repeat", unavailable) }),
				)
			})
		}),
	)
	return all
}
