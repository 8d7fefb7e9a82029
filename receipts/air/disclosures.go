package air

// Disclosure is one statement of what a result does not prove (seed §7, "STRONGER"). Code is stable; Text is fixed and
// never depends on a bundle's values.
type Disclosure struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Statements about every result, whatever the bundle (seed §1, §7.1 to 7.4, 7.11, §10).
func alwaysDisclosed() [8]Disclosure {
	return [...]Disclosure{
		{"validity-scope", "A valid status means that the bundle passed this profile's structural, binding, primary-witness, " +
			"caller-trust and temporal checks. It does not mean that a provider followed a retention class, that an endpoint " +
			"was reached, or that optional external proof systems accepted their committed artifacts."},
		{"included-keys-are-not-trust-anchors", "Keys included in a bundle are not trust anchors. A matching fingerprint means " +
			"that the included bytes match the reference; it does not establish who operates the key."},
		{"primary-proof-only", "The verdict rests on the primary proof of the declared witness mode. Missing, invalid or " +
			"below-quorum primary evidence is a rejection, and no other proof stands in for it."},
		{"absence-is-never-favourable", "Null, undeclared, an unavailable trust anchor or an unverified auxiliary slot is no " +
			"favourable claim."},
		{"provider-receipt-is-not-a-session-record", "A provider receipt covers one exchange. It imports no claim of a session " +
			"record, also where it refers to one."},
		{"features-are-client-supplied", "The service feature list is supplied by the client, not inferred from the endpoint."},
		{"unsigned-members", "The profile id, retention evidence, operators of included keys and auxiliary slots are not covered " +
			"by the primary proof: anybody can change them and keep a valid bundle, also from one profile version to the other."},
		{"replay-not-checked", "Replay and the uniqueness of receipt ids are not checked here; they need the receiver's own state."},
	}
}

// disclose lists what applies to a bundle, in a fixed order. Without a readable bundle, c is nil.
func disclose(c *checker) []Disclosure {
	always := alwaysDisclosed()
	list := append(make([]Disclosure, 0, 16), always[:]...) // a provider-signed bundle has 15
	if c == nil {
		return list
	}
	list = c.discloseTrust(list)
	list = c.discloseRetention(list)
	return c.discloseSlots(list)
}

func (c *checker) discloseTrust(list []Disclosure) []Disclosure {
	if len(c.missing) > 0 {
		list = append(list, Disclosure{"trust-not-established", "What the caller trusts does not suffice for a verdict. An " +
			"indeterminate result is not a favourable one."})
	}
	switch c.model {
	case ModelNone:
		list = append(list, Disclosure{"no-notary-trust-model", "No notary trust model is present. That is a disclosure, not a " +
			"favourable trust result."})
	case ModelIssuerOperated:
		list = append(list, Disclosure{"issuer-operated-notary", "The receipt declares that its issuer operates the notary, so " +
			"its evidence is no stronger than gateway-signed."})
	}
	if c.mode.notarised() && c.model != ModelIssuerOperated && !c.issuerKnown() {
		list = append(list, Disclosure{"issuer-operator-unknown", "The policy names no issuer operator, so whether the issuer " +
			"operates a notary, and with it the evidence class, is undetermined."})
	}
	if c.b.proofs.quorum.form.object {
		list = append(list, Disclosure{"quorum-is-a-count", "A met quorum means that enough declared notaries signed the receipt " +
			"digest. It does not establish that they are independent of each other or of the issuer."})
	}
	if c.b.proofs.tee.form.object {
		list = append(list, Disclosure{"tee-appraisal-is-not-raw-quote-verification", "A valid appraisal signature confirms only " +
			"the appraiser's statement over the quote digest. Hardware endorsement, freshness, revocation and trust in the " +
			"appraiser remain external."})
	}
	return list
}

func (c *checker) issuerKnown() bool { return c.policy != nil && c.policy.hasOperator }

func (c *checker) discloseRetention(list []Disclosure) []Disclosure {
	class := c.b.receipt.class
	switch {
	case !class.ok:
		return list
	case class.s == undeclared:
		return append(list, Disclosure{"retention-undeclared", "The retention class is undeclared: the mapping to a class was not " +
			"established. That proves nothing about the provider's conduct."})
	}
	return append(list, Disclosure{"retention-is-a-declaration", "The retention class is a declaration: the bundle names a class " +
		"from a retrieved first-party source. It does not prove the provider's conduct."})
}
