package air

import "crypto/ed25519"

const (
	quorumPath     = "/proofs/notary_quorum"
	signaturesPath = quorumPath + "/signatures"
)

type quorumProof struct {
	form          form
	receiptDigest text
	signatures    []notarySignature
	signaturesOK  bool // signatures is an array
}

type notarySignature struct {
	form      form
	notary    text
	ref       text
	algorithm text
	signature text
}

func (d *decoder) quorumProof() (p quorumProof) {
	o := d.slot(R082)
	for o.next() {
		switch o.name {
		case "receipt_digest":
			p.receiptDigest = d.text()
		case "signatures":
			p.signaturesOK = d.each(R082, MaxSignatures, func() { p.signatures = append(p.signatures, d.notarySignature()) })
		default:
			o.unknown()
		}
	}
	p.form = o.close(2)
	return p
}

func (d *decoder) notarySignature() (s notarySignature) {
	o := d.object(R082)
	for o.next() {
		switch o.name {
		case "notary_id":
			s.notary = d.text()
		case "key_ref":
			s.ref = d.text()
		case "algorithm":
			s.algorithm = d.text()
		case "signature":
			s.signature = d.text()
		default:
			o.unknown()
		}
	}
	s.form = o.close(4)
	return s
}

// notaryQuorum checks the slot, whichever witness mode is declared (R053, R060, R080 to R082; seed §5.3).
func (c *checker) notaryQuorum() {
	p := &c.b.proofs.quorum
	primary := c.mode.notarised()
	if !p.form.object {
		c.primaryMissing(primary, p.form, R080, quorumPath)
		return
	}
	c.names(p.receiptDigest, R082, quorumPath)
	var valid [MaxNotaries]bool // by declared notary, so that each counts once
	message := notaryMessage(c.digest)
	for i := range p.signatures {
		if n := c.notarySignature(i, &p.signatures[i], message); n >= 0 {
			valid[n] = true
		}
	}
	if c.digest != "" && c.quorumOK && p.signaturesOK {
		c.quorumMet(primary, &valid)
	}
}

// notarySignature returns the index of the declared notary that the signature is valid for, or -1.
func (c *checker) notarySignature(i int, s *notarySignature, message []byte) int {
	var signature [ed25519.SignatureSize]byte
	decodes := func(v string) bool { return decodeBase64(signature[:], v) }
	ok := c.want(s.algorithm, isAlgorithm, R082, in(signaturesPath, i, "/algorithm"))
	ok = c.want(s.signature, decodes, R082, in(signaturesPath, i, "/signature")) && ok
	ref := c.want(s.ref, isKeyRef, R082, in(signaturesPath, i, "/key_ref"))
	t := &c.b.receipt.trust
	n := t.notary(s.notary)
	if s.notary.set && n < 0 && t.notariesOK {
		c.fail(R082, in(signaturesPath, i, "/notary_id"))
	}
	if ref && n >= 0 && t.notaries[n].ref.s != s.ref.s {
		c.fail(R082, in(signaturesPath, i, "/key_ref"))
		n = -1
	}
	key := c.keyOf(s.ref, RoleNotary, in(signaturesPath, i, "/key_ref"))
	if !ok || n < 0 || key == nil || c.digest == "" || !s.form.closed {
		return -1
	}
	if !key.signed(message, &signature) {
		c.fail(R082, in(signaturesPath, i, "/signature"))
		return -1
	}
	return n
}

// quorumMet demands k valid notaries (R081) and k distinct caller pins among their keys (R053).
func (c *checker) quorumMet(primary bool, valid *[MaxNotaries]bool) {
	t := &c.b.receipt.trust
	var count, pinned int64
	for i := range t.notaries {
		if !valid[i] {
			continue
		}
		count++
		if c.policy != nil && c.policy.Trusts(t.notaries[i].ref.s) && t.firstValidWith(i, valid) {
			pinned++
		}
	}
	switch {
	case count < t.k.n:
		c.fail(R081, at(signaturesPath))
	case primary && c.policy != nil && pinned < t.k.n:
		c.lack(R053, signaturesPath)
	}
}

// firstValidWith says that no valid notary before i has the same key: two names of one key are one pin.
func (t *trustStatement) firstValidWith(i int, valid *[MaxNotaries]bool) bool {
	for j := range i {
		if valid[j] && t.notaries[j].ref.s == t.notaries[i].ref.s {
			return false
		}
	}
	return true
}
