package assembly

// againstTurn: the operation uses the revision pinned to its turn (C0-R805) and asks nobody but the designated proposer
// through its exact binding (C0-R800).
func (in *compactionInput) againstTurn(turn Turn) (f []Finding) {
	op := &in.operation
	if turn.Snapshot == nil {
		return nil
	}
	if op.pinnedRevision != turn.Snapshot.revision {
		f = append(f, Finding{R805, "/operation/pinned_profile_revision_id"})
	}
	if turn.Profile == nil {
		return f
	}
	position, rule := turn.Profile.proposer()
	if op.proposerRule != rule {
		f = append(f, Finding{R800, "/operation/proposer_rule"})
	}
	if rule != "" && op.binding != turn.Snapshot.bindings()[position] {
		f = append(f, Finding{R800, "/operation/provider_binding_id"})
	}
	return f
}

// proposer is the designated compaction proposer, if there is one.
func (p *Profile) proposer() (position int64, rule Word) {
	for i := range p.positions {
		if r := &p.positions[i]; r.enabled && r.proposer != "" {
			return r.position, r.proposer
		}
	}
	return 0, ""
}

// bindings are the binding ids by position.
func (s *Snapshot) bindings() map[int64]string {
	ids := make(map[int64]string, len(s.positions))
	for i := range s.positions {
		ids[s.positions[i].position] = s.positions[i].id
	}
	return ids
}

// againstTurn: the recovery names the turn's own snapshot (C0-R900), its bindings (C0-R910) and the results that were
// accepted (C0-R920).
func (in *recoveryInput) againstTurn(turn Turn) (f []Finding) {
	if s := turn.Snapshot; s != nil && in.turn != (snapshotName{s.id, s.computedDigest}) {
		f = append(f, Finding{R900, "/turn_snapshot_id"})
	}
	bindings := map[int64]string{}
	if turn.Snapshot != nil {
		bindings = turn.Snapshot.bindings()
	}
	for i, p := range in.positions {
		if turn.Snapshot != nil && bindings[p.position] != p.binding {
			f = append(f, Finding{R910, pointer([]any{"/positions", i, "/binding_id"})})
		}
		if turn.Accepted != nil && p.acceptedDigest != turn.Accepted[p.position] {
			f = append(f, Finding{R920, pointer([]any{"/positions", i, "/accepted_result_digest"})})
		}
	}
	return append(f, in.againstProfile(turn.Profile)...)
}

// againstProfile: every required position is among those that recover, as required, so that none is lost silently (C0-R930).
func (in *recoveryInput) againstProfile(p *Profile) (f []Finding) {
	if p == nil {
		return nil
	}
	left := map[int64]bool{} // required, and not met yet
	for i := range p.positions {
		if rule := &p.positions[i]; rule.enabled && rule.requirement == required {
			left[rule.position] = true
		}
	}
	for i, r := range in.positions {
		if left[r.position] && r.requirement != required {
			f = append(f, Finding{R930, pointer([]any{"/positions", i, "/requirement"})})
		}
		delete(left, r.position)
	}
	if len(left) > 0 {
		f = append(f, Finding{R930, "/positions"})
	}
	return f
}
