package assembly

// The contract's "Typed contribution operation", contribute request; C0-R400 … C0-R445.

func (v *verifier) checkRequest(s *seat) {
	q := s.row.request
	if q == nil {
		return
	}
	id, plan, snapshot := v.rec.id, v.rec.plan, v.rec.snapshot
	v.unless(q.assembly == id.AssemblyID, R400, s.rowAt, "/request/context_assembly_id")
	v.unless(q.turn == id.TurnID, R400, s.rowAt, "/request/turn_id")
	v.unless(q.correlation == id.CorrelationID, R400, s.rowAt, "/request/correlation_id")
	v.unless(q.snapshot == snapshot.id, R400, s.rowAt, "/request/snapshot_id")
	v.unless(q.position == s.rule.position, R400, s.rowAt, "/request/position")
	v.unless(q.binding == s.binding.id, R400, s.rowAt, "/request/provider_binding_id")
	v.unless(q.operation == contribute && words(s.rule.operations).has(contribute), R400, s.rowAt, "/request/operation")
	v.unless(q.snapshotTime.equal(plan.snapshotTime), R400, s.rowAt, "/request/snapshot_time")
	v.unless(q.bounds == s.allocation.Bounds, R410, s.rowAt, "/request/bounds")
	v.unless(q.outputContract == s.rule.outputContract(q.bounds), R415, s.rowAt, "/request/output_contract_digest")
	v.unless(q.inputSet == s.planned.inputSet, R420, s.rowAt, "/request/input_set_digest")
	for i, cue := range q.cues {
		v.unless(words(s.rule.cues).has(cue), R425, s.rowAt, "/request/cue_labels", i)
	}
	v.unless(q.policies == snapshot.policies, R440, s.rowAt, "/request/policy_revisions")
	v.unless(q.deadline.equal(s.planned.deadline), R445, s.rowAt, "/request/deadline")
}

// outputContract is the digest of what a position may return.
func (p *positionRule) outputContract(b Bounds) string {
	c := append(make(canonical, 0, 512), outputContractDomain...)
	c = append(c, `{"admitted_sources":[`...)
	for i, s := range p.sources.list {
		if i > 0 {
			c = append(c, ',')
		}
		c = c.text(`{"namespace":`, s.namespace)
		c = append(c.text(`,"source_class":`, s.class), '}')
	}
	c = c.text(`],"authority_ceiling":`, string(p.ceiling))
	c = c.number(`,"bounds":{"bytes":`, b.Bytes)
	c = c.number(`,"items":`, b.Items)
	c = c.number(`,"per_item_bytes":`, b.PerItemBytes)
	c = c.number(`,"tokens":`, b.Tokens)
	c = c.tokens(`},"sensitivities":`, p.sensitivities)
	c = c.tokens(`,"target_slots":`, p.slots)
	return digestOf(append(c, '}'))
}
