package air

const (
	inclusionPath = "/proofs/multi_operator_inclusion"
	entriesPath   = inclusionPath + "/entries"
)

type inclusionSlot struct {
	form          form
	receiptDigest text
	entries       []inclusionEntry
	entriesOK     bool // entries is an array
}

type inclusionEntry struct {
	form       form
	operator   text
	log        text
	leaf       number
	checkpoint text
	proof      text
}

func (d *decoder) inclusion() (s inclusionSlot) {
	o := d.slot(R110)
	for o.next() {
		switch o.name {
		case "receipt_digest":
			s.receiptDigest = d.text()
		case "entries":
			s.entriesOK = d.each(R111, MaxEntries, func() { s.entries = append(s.entries, d.inclusionEntry()) })
		default:
			o.unknown()
		}
	}
	s.form = o.close(2)
	return s
}

func (d *decoder) inclusionEntry() (e inclusionEntry) {
	o := d.object(R110)
	for o.next() {
		switch o.name {
		case "operator":
			e.operator = d.text()
		case "log_id":
			e.log = d.text()
		case "leaf_index":
			e.leaf = d.number()
		case "checkpoint_digest":
			e.checkpoint = d.text()
		case "inclusion_proof_digest":
			e.proof = d.text()
		default:
			o.unknown()
		}
	}
	e.form = o.close(5)
	return e
}

// multiOperator checks that 2 to 16 entries name as many operators (R111), and their metadata (R110). Whether anything
// is included anywhere is not checked (seed §7.9).
func (c *checker) multiOperator() {
	s := &c.b.proofs.inclusion
	c.names(s.receiptDigest, R110, inclusionPath)
	if s.entriesOK && len(s.entries) < 2 {
		c.fail(R111, at(entriesPath))
	}
	for i := range s.entries {
		e := &s.entries[i]
		c.want(e.log, isIdentifier, R110, in(entriesPath, i, "/log_id"))
		c.wantCount(e.leaf, R110, in(entriesPath, i, "/leaf_index"))
		c.want(e.checkpoint, isDigest, R110, in(entriesPath, i, "/checkpoint_digest"))
		c.want(e.proof, isDigest, R110, in(entriesPath, i, "/inclusion_proof_digest"))
		if c.want(e.operator, isIdentifier, R110, in(entriesPath, i, "/operator")) && s.repeats(i) {
			c.fail(R111, in(entriesPath, i, "/operator"))
		}
	}
}

// repeats says that an entry before i names the same operator.
func (s *inclusionSlot) repeats(i int) bool {
	for j := range i {
		if s.entries[j].operator.ok && s.entries[j].operator.s == s.entries[i].operator.s {
			return true
		}
	}
	return false
}
