package air

// bundle is a decoded bundle: what was there, well-formed or not. Shapes were checked on the way, values were not.
type bundle struct {
	form     form
	profile  text
	receipt  receipt
	proofs   proofs
	evidence retentionEvidence
	keys     []verificationKey
	keysOK   bool // verification_keys is an array
}

// decodeBundle reads a bundle. When the decoder stopped, its findings are the whole verdict.
func decodeBundle(d *decoder) (b bundle) {
	if !d.peek('{') {
		d.stop(R001)
		return b
	}
	o := d.object(R003)
	for o.next() {
		switch o.name {
		case "profile":
			b.profile = d.text()
		case "receipt":
			b.receipt = d.receipt()
		case "proofs":
			b.proofs = d.proofs()
		case "retention_evidence":
			b.evidence = d.retentionEvidence()
		case "verification_keys":
			b.keysOK = d.each(R050, MaxKeys, func() { b.keys = append(b.keys, d.verificationKey()) })
		default:
			o.unknown()
		}
	}
	b.form = o.close(5)
	if !d.stopped {
		d.finish()
	}
	return b
}

// proofs is the container of the eight slots (seed §3).
type proofs struct {
	form       form
	provider   providerProof
	quorum     quorumProof
	tee        teeProof
	ots        otsSlot
	keyLog     keyLogSlot
	lineage    lineageSlot
	disclosure disclosureSlot
	inclusion  inclusionSlot
}

func (d *decoder) proofs() (p proofs) {
	o := d.object(R040)
	for o.next() {
		switch o.name {
		case "provider_signature":
			p.provider = d.providerProof()
		case "notary_quorum":
			p.quorum = d.quorumProof()
		case "tee_quote":
			p.tee = d.teeProof()
		case "ots":
			p.ots = d.ots()
		case "key_transparency":
			p.keyLog = d.keyLog()
		case "lineage":
			p.lineage = d.lineage()
		case "disclosure_stance":
			p.disclosure = d.disclosureStance()
		case "multi_operator_inclusion":
			p.inclusion = d.inclusion()
		default:
			o.unknown()
		}
	}
	p.form = o.close(8)
	return p
}
