package air

import "crypto/ed25519"

const (
	teePath       = "/proofs/tee_quote"
	appraisalPath = teePath + "/appraisal"
)

type teeProof struct {
	form          form
	receiptDigest text
	format        text
	quoteDigest   text
	appraisal     teeAppraisal
}

type teeAppraisal struct {
	form        form
	verifier    text
	ref         text
	appraisedAt text
	result      text
	signature   text
}

func (d *decoder) teeProof() (p teeProof) {
	o := d.slot(R091)
	for o.next() {
		switch o.name {
		case "receipt_digest":
			p.receiptDigest = d.text()
		case "quote_format":
			p.format = d.text()
		case "quote_digest":
			p.quoteDigest = d.text()
		case "appraisal":
			p.appraisal = d.teeAppraisal()
		default:
			o.unknown()
		}
	}
	p.form = o.close(4)
	return p
}

func (d *decoder) teeAppraisal() (a teeAppraisal) {
	o := d.object(R091)
	for o.next() {
		switch o.name {
		case "verifier_id":
			a.verifier = d.text()
		case "key_ref":
			a.ref = d.text()
		case "appraised_at":
			a.appraisedAt = d.text()
		case "result":
			a.result = d.text()
		case "signature":
			a.signature = d.text()
		default:
			o.unknown()
		}
	}
	a.form = o.close(5)
	return a
}

// teeQuote checks the slot, whichever witness mode is declared (R053, R060, R090 to R092; seed §5.4).
func (c *checker) teeQuote() {
	p := &c.b.proofs.tee
	primary := c.mode == TEE
	if !p.form.object {
		c.primaryMissing(primary, p.form, R090, teePath)
		return
	}
	c.names(p.receiptDigest, R091, teePath)
	var signature [ed25519.SignatureSize]byte
	ok := c.commitment(p)
	ok = c.appraisal(&p.appraisal, &signature) && ok
	key := c.keyOf(p.appraisal.ref, RoleTEEVerifier, at(appraisalPath+"/key_ref"))
	if !ok || key == nil || c.digest == "" {
		return
	}
	if !key.signed(appraisalMessage(c.digest, p), &signature) {
		c.fail(R091, at(appraisalPath+"/signature"))
		return
	}
	if primary && c.policy != nil && !c.policy.Trusts(key.ref) {
		c.lack(R053, appraisalPath+"/key_ref")
	}
}

func (c *checker) commitment(p *teeProof) bool {
	format := c.want(p.format, isQuoteFormat, R091, at(teePath+"/quote_format"))
	quote := c.want(p.quoteDigest, isDigest, R091, at(teePath+"/quote_digest"))
	return p.form.closed && format && quote
}

func (c *checker) appraisal(a *teeAppraisal, signature *[ed25519.SignatureSize]byte) bool {
	seconds, isTime := parseTimestamp(a.appraisedAt.s)
	isTime = c.want(a.appraisedAt, func(string) bool { return isTime }, R091, at(appraisalPath+"/appraised_at"))
	if isTime {
		c.inWindow(seconds, R092, appraisalPath+"/appraised_at")
	}
	decodes := func(s string) bool { return decodeBase64(signature[:], s) }
	verifier := c.want(a.verifier, isIdentifier, R091, at(appraisalPath+"/verifier_id"))
	ref := c.want(a.ref, isKeyRef, R091, at(appraisalPath+"/key_ref"))
	result := c.want(a.result, func(s string) bool { return s == appraisalPass }, R091, at(appraisalPath+"/result"))
	signed := c.want(a.signature, decodes, R091, at(appraisalPath+"/signature"))
	return a.form.closed && isTime && verifier && ref && result && signed
}
