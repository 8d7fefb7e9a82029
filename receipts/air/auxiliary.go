package air

// The auxiliary slots are none-yet (seed §7.5 to 7.9): only their form and their receipt digest are checked, and they
// never raise a verdict.

type otsSlot struct {
	form                           form
	receiptDigest, calendar, proof text
}

type keyLogSlot struct {
	form                                           form
	receiptDigest, ref, log, checkpoint, inclusion text
}

type lineageSlot struct {
	form                            form
	receiptDigest, parent, relation text
}

type disclosureSlot struct {
	form                             form
	receiptDigest, stance, statement text
}

func (d *decoder) ots() (s otsSlot) {
	o := d.slot(R110)
	for o.next() {
		switch o.name {
		case "receipt_digest":
			s.receiptDigest = d.text()
		case "calendar_url":
			s.calendar = d.text()
		case "proof_digest":
			s.proof = d.text()
		default:
			o.unknown()
		}
	}
	s.form = o.close(3)
	return s
}

func (d *decoder) keyLog() (s keyLogSlot) {
	o := d.slot(R110)
	for o.next() {
		switch o.name {
		case "receipt_digest":
			s.receiptDigest = d.text()
		case "key_ref":
			s.ref = d.text()
		case "log_id":
			s.log = d.text()
		case "checkpoint_digest":
			s.checkpoint = d.text()
		case "inclusion_proof_digest":
			s.inclusion = d.text()
		default:
			o.unknown()
		}
	}
	s.form = o.close(5)
	return s
}

func (d *decoder) lineage() (s lineageSlot) {
	o := d.slot(R110)
	for o.next() {
		switch o.name {
		case "receipt_digest":
			s.receiptDigest = d.text()
		case "parent_receipt_digest":
			s.parent = d.text()
		case "relation":
			s.relation = d.text()
		default:
			o.unknown()
		}
	}
	s.form = o.close(3)
	return s
}

func (d *decoder) disclosureStance() (s disclosureSlot) {
	o := d.slot(R110)
	for o.next() {
		switch o.name {
		case "receipt_digest":
			s.receiptDigest = d.text()
		case "stance":
			s.stance = d.text()
		case "statement_digest":
			s.statement = d.text()
		default:
			o.unknown()
		}
	}
	s.form = o.close(3)
	return s
}

// auxiliary checks the four single-valued slots (R060, R110).
func (c *checker) auxiliary() {
	p := &c.b.proofs
	c.names(p.ots.receiptDigest, R110, "/proofs/ots")
	c.want(p.ots.calendar, isCalendarURL, R110, at("/proofs/ots/calendar_url"))
	c.want(p.ots.proof, isDigest, R110, at("/proofs/ots/proof_digest"))

	c.names(p.keyLog.receiptDigest, R110, "/proofs/key_transparency")
	c.want(p.keyLog.ref, isKeyRef, R110, at("/proofs/key_transparency/key_ref"))
	c.want(p.keyLog.log, isIdentifier, R110, at("/proofs/key_transparency/log_id"))
	c.want(p.keyLog.checkpoint, isDigest, R110, at("/proofs/key_transparency/checkpoint_digest"))
	c.want(p.keyLog.inclusion, isDigest, R110, at("/proofs/key_transparency/inclusion_proof_digest"))

	c.names(p.lineage.receiptDigest, R110, "/proofs/lineage")
	c.want(p.lineage.parent, isDigest, R110, at("/proofs/lineage/parent_receipt_digest"))
	c.want(p.lineage.relation, func(s string) bool { return s == lineageRelation }, R110, at("/proofs/lineage/relation"))

	c.names(p.disclosure.receiptDigest, R110, "/proofs/disclosure_stance")
	c.want(p.disclosure.stance, func(s string) bool { return s == digestOnly }, R110, at("/proofs/disclosure_stance/stance"))
	c.want(p.disclosure.statement, isDigest, R110, at("/proofs/disclosure_stance/statement_digest"))
}
