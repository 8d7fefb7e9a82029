package assembly

// contribution is one contribution, digest-only (section 3.6). Members that come from the provider are claims; those that
// begin with kernel are measurements of the kernel, which a ledger can't repeat.
type contribution struct {
	id, assembly, binding string
	ordinal               int64
	payloadType           Word
	isUTF8                bool
	payloadDigest         string // claimed
	kernelDigest          string
	kernelBytes           int64
	kernelTokens          int64
	rendered              Size // after wrapper and redaction
	source                source
	times                 freshnessInput
	malformed             []Word
	sensitivity           Word // "" is null: the provider omitted it
	kernelFloor           Word // "" is null
	authority             Word
	slot                  Word
	inadmissible          string // "" is null: the canonical kernel source that made it inadmissible
}

// source is the claimed source and what the kernel made of the claim.
type source struct {
	pair
	ref                       string
	shapeOK, scopeOK, proofOK bool
}

func (s source) confirmed() bool { return s.shapeOK && s.scopeOK && s.proofOK }

func (r reader) contributions() []contribution { return listOf(r, r.contribution) }

func (r reader) contribution(c *contribution) {
	r.Object(
		into("context_contribution_id", &c.id, r.token),
		into("context_assembly_id", &c.assembly, r.token),
		into("provider_binding_id", &c.binding, r.token),
		into("ordinal", &c.ordinal, r.count),
		into("payload_type", &c.payloadType, func() Word { return r.wordOf(text, other) }),
		into("utf8_valid", &c.isUTF8, r.Bool),
		into("payload_digest", &c.payloadDigest, r.digest),
		into("kernel_payload_digest", &c.kernelDigest, r.digest),
		into("kernel_bytes", &c.kernelBytes, r.count),
		into("kernel_tokens", &c.kernelTokens, r.count),
		into("rendered_bytes", &c.rendered.Bytes, r.count),
		into("rendered_tokens", &c.rendered.Tokens, r.count),
		into("source", &c.source, r.source),
		into("source_revision", &c.times.revision, r.revision),
		into("observed_at", &c.times.observedAt, func() instant { return orNull(r, r.instant) }),
		into("retrieved_at", &c.times.retrievedAt, func() instant { return orNull(r, r.instant) }),
		into("valid_until", &c.times.validUntil, func() instant { return orNull(r, r.instant) }),
		into("malformed_times", &c.malformed, func() []Word {
			return list(r, func() Word { return r.wordOf("observed_at", "retrieved_at", "valid_until") })
		}),
		into("sensitivity", &c.sensitivity, func() Word {
			return orNull(r, func() Word { return r.wordOf(public, private, sensitive, other) })
		}),
		into("kernel_sensitivity_floor", &c.kernelFloor, func() Word { return orNull(r, r.sensitivity) }),
		into("authority", &c.authority, r.claimedAuthority),
		into("target_slot", &c.slot, r.word),
		into("kernel_inadmissible_ref", &c.inadmissible, func() string { return orNull(r, r.token) }),
	)
}

func (r reader) source() (s source) {
	r.Object(
		into("source_class", &s.class, r.token),
		into("namespace", &s.namespace, r.token),
		into("stable_ref", &s.ref, r.token),
		into("shape_ok", &s.shapeOK, r.Bool),
		into("scope_ok", &s.scopeOK, r.Bool),
		into("proof_ok", &s.proofOK, r.Bool),
	)
	return s
}

// claimedAuthority reads a stored claim. The last three words are always violations.
func (r reader) claimedAuthority() Word {
	return r.wordOf(untrustedData, contextData, workflowGuidance, "kernel_instruction", "user_request", other)
}
