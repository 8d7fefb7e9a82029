package assembly

import "time"

// The contract's "Scope, identity, selection, and ordered binding", binding snapshot; C0-R040, C0-R205 … C0-R260.

func (v *verifier) checkSnapshot() {
	a, s := v.rec, v.rec.snapshot
	v.unless(s.turn == a.id.TurnID, R040, "/snapshot/turn_id")
	v.unless(s.scope.tenant == a.id.TenantID, R040, "/snapshot/selection_scope/tenant_id")
	v.unless(s.scope.agent == a.id.AgentID, R040, "/snapshot/selection_scope/agent_id")
	v.unless(s.DigestHolds(), R210, "/snapshot/snapshot_digest")
	v.unless(s.revision == a.profile.revision, R220, "/snapshot/profile_revision_id")
	v.unless(s.policies.profile == a.profile.revision, R220, "/snapshot/policy_revisions/profile")
	v.unless(s.scope.deployment == a.resolution.key.deployment && s.scope.kind == a.resolution.key.kind, R220, "/snapshot/selection_scope")
	if first, ok := v.firstAttempt(); ok {
		v.unless(!s.recordedAt.after(first), R260, "/snapshot/recorded_at")
		v.unless(isAhead(v.anchors.SnapshotReceivedAt, first), R260, "/snapshot")
	}
}

// checkAnchors: one snapshot per turn, one content per snapshot id (C0-R215), and a rebuild under the snapshot of the
// assembly that ordered it (C0-R770).
func (v *verifier) checkAnchors() {
	a, s := v.rec, v.rec.snapshot
	for _, seen := range v.anchors.Snapshots {
		if seen.TurnID != s.turn && seen.SnapshotID != s.id {
			continue
		}
		v.unless(seen == SnapshotAnchor{s.turn, s.id, s.computedDigest}, R215, "/snapshot")
	}
	v.unless(a.id.Kind != rebuildKind || a.id.Predecessor != "", R770, "/identity/predecessor_assembly_id")
	if p := v.anchors.Predecessor; p != nil {
		v.unless(p.AssemblyID == string(a.id.Predecessor), R770, "/identity/predecessor_assembly_id")
		v.unless(a.id.Kind != rebuildKind || p.Rebuilds, R770, "/identity/assembly_kind")
		v.unless(a.id.Kind != rebuildKind || p.SnapshotID == s.id, R770, "/snapshot/snapshot_id")
	}
}

func (v *verifier) checkBinding(s *seat) {
	b := s.binding
	if s.bindingAt == "" {
		return
	}
	v.unless(b.implementation == s.rule.implementations[0], R205, s.bindingAt)
	v.unless(b.ruleDigest == s.rule.digest, R240, s.bindingAt, "/rule_digest")
	s.isEligible = b.axes.allow(s.rule)
	s.isDegraded = s.isEligible && b.axes.healthy == Degraded
	rule := R250
	if b.axes.healthy == Degraded && b.axes.restHolds() {
		rule = R255
	}
	v.unless(b.eligible == s.isEligible, rule, s.bindingAt, "/eligible")
}

// allow: all seven axes are yes. Degraded health counts only for an optional position whose rule admits it; unknown never
// counts (D-24).
func (a axes) allow(rule *positionRule) bool {
	isHealthy := a.healthy == yes || a.healthy == Degraded && rule.requirement == optional && rule.degradedBind
	return isHealthy && a.restHolds()
}

func (a axes) restHolds() bool {
	a.healthy = yes
	return a == axes{yes, yes, yes, yes, yes, yes, yes}
}

// firstAttempt is when a provider was first invoked, if one was.
func (v *verifier) firstAttempt() (first instant, any bool) {
	for i := range v.rec.rows {
		for _, a := range v.rec.rows[i].attempts {
			if !any || first.after(a.startedAt) {
				first, any = a.startedAt, true
			}
		}
	}
	return first, any
}

// isAhead: the ledger received it before an instant, as far as it was asked.
func isAhead(received *time.Time, t instant) bool {
	return received == nil || !instantOf(*received).after(t)
}
