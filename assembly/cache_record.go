package assembly

func (r reader) cachedResult() *cachedResult {
	v := &cachedResult{}
	r.Object(
		into("key", &v.key, r.cacheKey),
		into("ordinals_as_stored", &v.ordinals, func() []int64 { return list(r, r.count) }),
		into("stored_result_digest", &v.storedDigest, r.digest),
		into("contributions", &v.contributions, r.contributions),
		into("checked_at", &v.checkedAt, r.instant),
		into("policy_ok", &v.policyOK, r.Bool),
	)
	return v
}

func (r reader) cacheKey() (k cacheKey) {
	r.Object(
		into("provider_kind_id", &k.kind, r.token),
		into("provider_binding_id", &k.binding, r.token),
		into("provider_release_id", &k.release, r.token),
		into("configuration_revision", &k.configuration, r.token),
		into("profile_revision_id", &k.revision, r.token),
		into("position", &k.position, r.count),
		into("operation", &k.operation, r.operation),
		into("input_set_digest", &k.inputSet, r.digest),
		into("scope_digest", &k.scope, r.digest),
		into("redaction_policy_revision", &k.redaction, r.token),
		into("output_contract_digest", &k.outputContract, r.digest),
	)
	return k
}
