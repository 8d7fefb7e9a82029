package air

import "crypto/ed25519"

const providerPath = "/proofs/provider_signature"

// components are what a provider signs, in this order (seed §5.2).
const (
	componentRequest  = "syngraphe-request-digest"
	componentResponse = "syngraphe-response-digest"
	componentModel    = "syngraphe-model-id"
	componentClass    = "syngraphe-retention-class"
	componentTime     = "syngraphe-timestamp"
	componentReceipt  = "syngraphe-receipt-digest"
)

// componentCount is the number of components that a provider signs (seed §5.2).
const componentCount = 6

func components() [componentCount]string {
	return [componentCount]string{componentRequest, componentResponse, componentModel, componentClass, componentTime, componentReceipt}
}

type providerProof struct {
	form          form
	algorithm     text
	covered       []text
	coveredOK     bool // covered_components is an array
	created       number
	ref           text
	receiptDigest text
	signature     text
}

func (d *decoder) providerProof() (p providerProof) {
	o := d.slot(R071)
	for o.next() {
		switch o.name {
		case "algorithm":
			p.algorithm = d.text()
		case "covered_components":
			p.covered, p.coveredOK = d.texts(R071, componentCount)
		case "created":
			p.created = d.number()
		case "key_ref":
			p.ref = d.text()
		case "receipt_digest":
			p.receiptDigest = d.text()
		case "signature":
			p.signature = d.text()
		default:
			o.unknown()
		}
	}
	p.form = o.close(6)
	return p
}

// providerSignature checks the slot, whichever witness mode is declared (R060, R070, R071).
func (c *checker) providerSignature() {
	p := &c.b.proofs.provider
	primary := c.mode == ProviderSigns
	if !p.form.object {
		c.primaryMissing(primary, p.form, R070, providerPath)
		return
	}
	c.names(p.receiptDigest, R071, providerPath)
	var signature [ed25519.SignatureSize]byte
	ok := c.providerMetadata(p, &signature)
	key := c.keyOf(p.ref, RoleProvider, at(providerPath+"/key_ref"))
	if !ok || key == nil || c.digest == "" || !c.tupleOK {
		return
	}
	base := signatureBase(&c.b.receipt, c.digest, c.time, key.ref)
	if !key.signed(base, &signature) {
		c.fail(R071, at(providerPath+"/signature"))
		return
	}
	if primary && c.policy != nil && !c.policy.Trusts(key.ref) {
		c.lack(R053, providerPath+"/key_ref")
	}
}

func (c *checker) providerMetadata(p *providerProof, signature *[ed25519.SignatureSize]byte) bool {
	decodes := func(s string) bool { return decodeBase64(signature[:], s) }
	ok := c.want(p.algorithm, isAlgorithm, R071, at(providerPath+"/algorithm"))
	ok = c.want(p.ref, isKeyRef, R071, at(providerPath+"/key_ref")) && ok
	ok = c.want(p.signature, decodes, R071, at(providerPath+"/signature")) && ok
	if p.coveredOK && !isCovered(p.covered) {
		c.fail(R071, at(providerPath+"/covered_components"))
	}
	created := p.created.ok && (!c.timeOK || p.created.n == c.time)
	if p.created.set && !created {
		c.fail(R071, at(providerPath+"/created"))
	}
	return ok && p.form.closed && p.coveredOK && isCovered(p.covered) && created
}

func isCovered(list []text) bool {
	want := components()
	if len(list) != len(want) {
		return false
	}
	for i, t := range list {
		if !t.ok || t.s != want[i] {
			return false
		}
	}
	return true
}
