package air

type trustStatement struct {
	form       form
	party      text
	mode       text
	model      text
	notaries   []notary
	notariesOK bool // notaries is an array of closed objects
	quorum     form
	k, n       number
}

type notary struct {
	form                            form
	id, ref, operator, jurisdiction text
}

func (d *decoder) trustStatement() (t trustStatement) {
	o := d.object(R030)
	for o.next() {
		switch o.name {
		case "terminating_party":
			t.party = d.text()
		case "witness_mode":
			t.mode = d.text()
		case "notaries":
			closed := true
			t.notariesOK = d.each(R030, MaxNotaries, func() {
				n := d.notary()
				closed = closed && n.form.closed
				t.notaries = append(t.notaries, n)
			}) && closed
		case "quorum":
			d.quorum(&t)
		case "notary_trust_model":
			t.model = d.text()
		default:
			o.unknown()
		}
	}
	t.form = o.close(5)
	t.form.closed = t.form.closed && t.notariesOK && t.quorum.closed
	return t
}

func (d *decoder) notary() (n notary) {
	o := d.object(R030)
	for o.next() {
		switch o.name {
		case "id":
			n.id = d.text()
		case "key_ref":
			n.ref = d.text()
		case "operator":
			n.operator = d.text()
		case "jurisdiction":
			n.jurisdiction = d.text()
		default:
			o.unknown()
		}
	}
	n.form = o.close(4)
	return n
}

func (d *decoder) quorum(t *trustStatement) {
	o := d.object(R030)
	for o.next() {
		switch o.name {
		case "k":
			t.k = d.number()
		case "n":
			t.n = d.number()
		default:
			o.unknown()
		}
	}
	t.quorum = o.close(2)
}

const trustPath = "/receipt/trust_statement"

// trust checks the trust statement's values (R030) and whether they agree (R031).
func (c *checker) trust() {
	t := &c.b.receipt.trust
	c.want(t.party, isTerminatingParty, R030, at(trustPath+"/terminating_party"))
	if c.want(t.mode, func(s string) bool { return WitnessMode(s).known() }, R030, at(trustPath+"/witness_mode")) {
		c.mode = WitnessMode(t.mode.s)
	}
	inProfile := func(s string) bool { return TrustModel(s).known(c.b.profile.s) }
	if c.want(t.model, inProfile, R030, at(trustPath+"/notary_trust_model")) {
		c.model = TrustModel(t.model.s)
	}
	for i := range t.notaries {
		c.notary(i, &t.notaries[i])
	}
	k := c.wantCount(t.k, R030, at(trustPath+"/quorum/k"))
	n := c.wantCount(t.n, R030, at(trustPath+"/quorum/n"))
	c.quorumOK = k && n
	c.agreement(t)
}

func (c *checker) notary(i int, n *notary) {
	const list = trustPath + "/notaries"
	c.want(n.id, isIdentifier, R030, in(list, i, "/id"))
	c.want(n.ref, isKeyRef, R030, in(list, i, "/key_ref"))
	c.want(n.operator, isIdentifier, R030, in(list, i, "/operator"))
	c.want(n.jurisdiction, isJurisdiction, R030, in(list, i, "/jurisdiction"))
}

// agreement is the table of seed §3.1. Notary ids are unique, since a signature names its notary by id.
func (c *checker) agreement(t *trustStatement) {
	if c.mode == "" {
		return
	}
	if c.model != "" && !c.model.fits(c.mode) {
		c.fail(R031, at(trustPath+"/notary_trust_model"))
	}
	for i := range t.notaries {
		if n := t.notary(t.notaries[i].id); n >= 0 && n < i {
			c.fail(R031, in(trustPath+"/notaries", i, "/id"))
		}
	}
	if !t.notariesOK || !c.quorumOK {
		return
	}
	declared := int64(len(t.notaries))
	if c.mode.notarised() != (declared > 0) {
		c.fail(R031, at(trustPath+"/notaries"))
	}
	if t.n.n != declared || c.mode.notarised() != (t.k.n >= 1) || t.k.n > t.n.n {
		c.fail(R031, at(trustPath+"/quorum"))
	}
}

// notary finds the first declared notary of that id, or gives -1.
func (t *trustStatement) notary(id text) int {
	for i := range t.notaries {
		if id.ok && t.notaries[i].id.ok && t.notaries[i].id.s == id.s {
			return i
		}
	}
	return -1
}
