package assembly

import "ledgerd/internal/strictjson"

// Plan is a ContextAssemblyPlan as recorded (section 3.4): of the right shape, nothing more. The allocations are derived,
// so they are in the report.
type Plan struct {
	id             string
	assembly       string
	snapshot       string
	createdAt      instant
	snapshotTime   instant
	reserveMS      int64 // kept for the kernel's assembly and the model
	modelBoundary  []Word
	budget         budgetInput
	limits         finalLimits
	positions      []plannedPosition
	digest         string // as it stands in the record
	computedDigest string
}

// ParsePlan reads an assembly plan. The error is a *RecordError.
func ParsePlan(src []byte) (*Plan, error) { return parse(src, readPlan) }

// ID is the plan_id.
func (p *Plan) ID() string { return p.id }

// AssemblyID is the one assembly that the plan is for.
func (p *Plan) AssemblyID() string { return p.assembly }

// SnapshotID is the snapshot that the plan stands under.
func (p *Plan) SnapshotID() string { return p.snapshot }

// Digest is the computed digest. DigestHolds says whether the recorded one is the same.
func (p *Plan) Digest() string { return p.computedDigest }

// DigestHolds says whether the plan has the digest that it claims (C0-R302).
func (p *Plan) DigestHolds() bool { return p.digest == p.computedDigest }

// budgetInput is what the budget is computed from, beside the position rules.
type budgetInput struct {
	candidates []candidate
	items      int64 // policy ceiling
	bytes      int64
	tokens     limit
	reserved   Amount // sum of the nine reserves
}

type candidate struct {
	model          string
	input, context limit // tokens
}

// finalLimits bound the final size.
type finalLimits struct {
	tokens int64
	bytes  limit
}

type plannedPosition struct {
	position int64
	deadline instant
	inputSet string
}

func readPlan(r reader) *Plan {
	p := &Plan{}
	raw := r.Raw(func() {
		r.Object(
			into("plan_id", &p.id, r.token),
			into("context_assembly_id", &p.assembly, r.token),
			into("snapshot_id", &p.snapshot, r.token),
			into("created_at", &p.createdAt, r.instant),
			into("snapshot_time", &p.snapshotTime, r.instant),
			into("kernel_reserve_ms", &p.reserveMS, r.count),
			into("model_boundary_sensitivities", &p.modelBoundary, r.sensitivityList),
			req("budget", func() { r.Object(r.budgetMembers(&p.budget)...) }),
			into("final_limits", &p.limits, r.finalLimits),
			into("positions", &p.positions, func() []plannedPosition { return list(r, r.plannedPosition) }),
			into("plan_digest", &p.digest, r.digest),
		)
	})
	p.computedDigest = r.digestOf(planDomain, raw, "plan_digest")
	return p
}

func (r reader) budgetMembers(b *budgetInput) []member {
	return []member{
		into("model_candidates", &b.candidates, func() []candidate { return list(r, r.candidate) }),
		req("policy_ceiling", func() {
			r.Object(into("items", &b.items, r.count), into("bytes", &b.bytes, r.count), into("tokens", &b.tokens, r.limit))
		}),
		into("reserves", &b.reserved, r.reserves),
	}
}

func (r reader) candidate() (c candidate) {
	r.Object(
		into("model_ref", &c.model, r.token),
		into("input_limit_tokens", &c.input, r.limit),
		into("context_limit_tokens", &c.context, r.limit),
	)
	return c
}

// reserves adds up the reserves, of which each kind must be there exactly once (C0-R320).
func (r reader) reserves() (total Amount) {
	kinds := words{"output", "protocol_serialization", "tool_schemas", "native_attachments", "identity_safety_policy",
		"current_user_content", "conversation_checkpoint", "pending_approvals_tool_state", "minimum_recent_transcript"}
	seen := map[Word]bool{}
	r.Array(func(int) {
		var kind Word
		var a Amount
		r.Object(
			into("kind", &kind, func() Word { return r.wordOf(kinds...) }),
			into("items", &a.Items, r.count),
			into("bytes", &a.Bytes, r.count),
			into("tokens", &a.Tokens, r.count),
		)
		if seen[kind] {
			r.Fail(strictjson.RuleValue, "a reserve kind stands twice")
		}
		seen[kind] = true
		total = total.plus(a)
	})
	if !r.Failed() && len(seen) != len(kinds) {
		r.Fail(strictjson.RuleMissing, "every reserve kind is required, if with zero")
	}
	return total
}

func (r reader) finalLimits() (l finalLimits) {
	r.Object(into("tokens", &l.tokens, r.count), into("bytes", &l.bytes, r.limit))
	return l
}

func (r reader) plannedPosition() (p plannedPosition) {
	r.Object(
		into("position", &p.position, r.count),
		into("deadline", &p.deadline, r.instant),
		into("input_set_digest", &p.inputSet, r.digest),
	)
	return p
}
