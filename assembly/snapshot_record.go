package assembly

// Snapshot is a ContextStrategyBindingSnapshot as recorded (section 3.3): of the right shape, nothing more.
type Snapshot struct {
	id             string
	turn           string
	revision       string
	scope          lookupKey
	createdAt      instant
	recordedAt     instant
	policies       policyRevisions
	estimator      estimator
	positions      []binding
	digest         string // as it stands in the record
	computedDigest string
}

// ParseSnapshot reads a binding snapshot. The error is a *RecordError.
func ParseSnapshot(src []byte) (*Snapshot, error) { return parse(src, readSnapshot) }

// ID is the snapshot_id.
func (s *Snapshot) ID() string { return s.id }

// TurnID is the canonical turn that the snapshot was made for.
func (s *Snapshot) TurnID() string { return s.turn }

// ProfileRevisionID names the profile revision that it binds.
func (s *Snapshot) ProfileRevisionID() string { return s.revision }

// Digest is the computed digest. DigestHolds says whether the recorded one is the same.
func (s *Snapshot) Digest() string { return s.computedDigest }

// DigestHolds says whether the snapshot has the digest that it claims (C0-R210).
func (s *Snapshot) DigestHolds() bool { return s.digest == s.computedDigest }

// lookupKey is the one selection scope of v1.
type lookupKey struct{ deployment, tenant, agent, kind string }

type policyRevisions struct{ budget, freshness, redaction, finalAssembly, profile string }

type estimator struct{ id, version string }

func (e estimator) name() string { return e.id + "/" + e.version }

// binding is one position's exact binding.
type binding struct {
	position          int64
	id                string // provider_binding_id
	contractVersion   string
	implementation    implementation
	configuration     string
	evidence          string
	trust, deployment string
	peer              string // "" is null
	isIdempotent      bool
	axes              axes
	eligible          bool
	ruleDigest        string
}

// axes are the independent D1 axes, six of which are yes, no or unknown.
type axes struct {
	registered, configured, compatible, conforming, ready, healthy, capable Word
}

func readSnapshot(r reader) *Snapshot {
	s := &Snapshot{}
	raw := r.Raw(func() {
		r.Object(
			into("snapshot_id", &s.id, r.token),
			into("turn_id", &s.turn, r.uuid),
			into("profile_revision_id", &s.revision, r.token),
			into("selection_scope", &s.scope, r.lookupKey),
			into("created_at", &s.createdAt, r.instant),
			into("recorded_at", &s.recordedAt, r.instant),
			into("policy_revisions", &s.policies, r.policyRevisions),
			into("token_estimator", &s.estimator, r.estimator),
			into("positions", &s.positions, func() []binding { return list(r, r.binding) }),
			into("snapshot_digest", &s.digest, r.digest),
		)
	})
	s.computedDigest = r.digestOf(snapshotDomain, raw, "snapshot_digest")
	return s
}

func (r reader) lookupKey() (k lookupKey) {
	r.Object(
		into("deployment_configuration_revision", &k.deployment, r.token),
		into("tenant_id", &k.tenant, r.uuid),
		into("agent_id", &k.agent, r.uuid),
		into("provider_kind_id", &k.kind, r.token),
	)
	return k
}

func (r reader) policyRevisions() (p policyRevisions) {
	r.Object(
		into("budget", &p.budget, r.token),
		into("freshness", &p.freshness, r.token),
		into("redaction", &p.redaction, r.token),
		into("final_assembly", &p.finalAssembly, r.token),
		into("profile", &p.profile, r.token),
	)
	return p
}

func (r reader) estimator() (e estimator) {
	r.Object(into("id", &e.id, r.token), into("version", &e.version, r.token))
	return e
}

func (r reader) binding() (b binding) {
	r.Object(
		into("position", &b.position, r.count),
		into("provider_binding_id", &b.id, r.token),
		into("contract_version", &b.contractVersion, r.token),
		into("implementation_id", &b.implementation.id, r.token),
		into("implementation_version", &b.implementation.version, r.token),
		into("provider_release_id", &b.implementation.release, r.token),
		into("configuration_revision", &b.configuration, r.token),
		into("conformance_evidence_ref", &b.evidence, r.token),
		into("trust_posture", &b.trust, r.token),
		into("deployment_posture", &b.deployment, r.token),
		into("authenticated_peer_ref", &b.peer, func() string { return orNull(r, r.token) }),
		into("idempotency_proven", &b.isIdempotent, r.Bool),
		into("axes", &b.axes, r.axes),
		into("eligible", &b.eligible, r.Bool),
		into("rule_digest", &b.ruleDigest, r.digest),
	)
	return b
}

func (r reader) axes() (a axes) {
	axis := func() Word { return r.wordOf(yes, no, unknown) }
	r.Object(
		into("registered", &a.registered, axis),
		into("configured", &a.configured, axis),
		into("compatible", &a.compatible, axis),
		into("conforming", &a.conforming, axis),
		into("ready", &a.ready, axis),
		into("healthy", &a.healthy, func() Word { return r.wordOf(yes, no, unknown, Degraded) }),
		into("capable", &a.capable, axis),
	)
	return a
}
