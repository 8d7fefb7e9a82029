package air

import "slices"

type retentionEvidence struct {
	form       form
	provider   text
	source     text
	retrieved  text
	sha256     text
	class      text
	features   []text
	featuresOK bool // service_features is an array
}

func (d *decoder) retentionEvidence() (e retentionEvidence) {
	o := d.object(R100)
	for o.next() {
		switch o.name {
		case "provider":
			e.provider = d.text()
		case "source_url":
			e.source = d.text()
		case "retrieved_on":
			e.retrieved = d.text()
		case "source_sha256":
			e.sha256 = d.text()
		case "declared_class":
			e.class = d.text()
		case "service_features":
			e.features, e.featuresOK = d.texts(R104, MaxFeatures)
		default:
			o.unknown()
		}
	}
	e.form = o.close(6)
	return e
}

const (
	evidencePath = "/retention_evidence"
	classPath    = "/receipt/retention_class"
)

// retention checks the declared retention class against its evidence and its provider (R100 to R106, seed §4).
func (c *checker) retention() {
	e := &c.b.evidence
	if e.provider.set {
		c.provider = lookupProvider(e.provider.s)
	}
	c.want(e.provider, func(string) bool { return c.provider != nil }, R100, at(evidencePath+"/provider"))
	c.want(e.retrieved, isDate, R100, at(evidencePath+"/retrieved_on"))
	c.want(e.sha256, isDigest, R100, at(evidencePath+"/source_sha256"))
	c.want(e.source, func(s string) bool { return c.provider != nil && s == c.provider.source }, R101, at(evidencePath+"/source_url"))
	c.class(e)
	c.features(e)
	if c.provider != nil {
		c.ofProvider(c.provider)
	}
}

func isDate(s string) bool {
	_, ok := parseDate(s)
	return ok
}

// class demands one class of the provider, the same in the receipt and in its evidence. With an unknown provider it
// may be any provider's.
func (c *checker) class(e *retentionEvidence) {
	class := c.b.receipt.class
	ofProvider := func(s string) bool { return isClass(s) && (c.provider == nil || c.provider.has(s)) }
	c.want(class, ofProvider, R102, at(classPath))
	same := func(s string) bool { return !class.ok || s == class.s }
	c.want(e.class, same, R102, at(evidencePath+"/declared_class"))
}

func (c *checker) features(e *retentionEvidence) {
	const list = evidencePath + "/service_features"
	for i, f := range e.features {
		known := f.ok && (c.provider == nil || slices.Contains(c.provider.features, f.s))
		ordered := i == 0 || !f.ok || !e.features[i-1].ok || e.features[i-1].s < f.s
		if !known || !ordered {
			c.fail(R104, in(list, i, ""))
		}
	}
	if c.provider == nil || c.b.receipt.class.s != c.provider.zeroData {
		return
	}
	for _, f := range e.features {
		if slices.Contains(c.provider.features, f.s) {
			c.fail(R105, at(list))
			return
		}
	}
}

// ofProvider checks what of the exchange depends on the provider.
func (c *checker) ofProvider(p *provider) {
	if c.host != "" && c.host != p.host {
		c.fail(R103, at("/receipt/endpoint"))
	}
	if model := c.b.receipt.model.s; c.modelOK && !hasProvider(model, p.name) {
		c.fail(R106, at("/receipt/model_id"))
	}
}

func hasProvider(model, name string) bool {
	return len(model) > len(name) && model[:len(name)] == name && model[len(name)] == '/'
}
