package air

type receipt struct {
	form     form
	id       text
	request  text
	response text
	endpoint text
	model    text
	class    text
	time     text
	trust    trustStatement
	raw      string // as it stands in the bundle; "" when a number in it can't be canonicalised
}

func (d *decoder) receipt() (r receipt) {
	outside := d.inexact
	d.inexact = false
	o := d.object(R020)
	from := int(d.json.InputOffset()) - len("{")
	for o.next() {
		switch o.name {
		case "receipt_id":
			r.id = d.text()
		case "request_digest":
			r.request = d.text()
		case "response_digest":
			r.response = d.text()
		case "endpoint":
			r.endpoint = d.text()
		case "model_id":
			r.model = d.text()
		case "retention_class":
			r.class = d.text()
		case "timestamp":
			r.time = d.text()
		case "trust_statement":
			r.trust = d.trustStatement()
		default:
			o.unknown()
		}
	}
	r.form = o.close(8)
	switch {
	case d.inexact && r.form.closed: // the canonical subset (seed §5.1); a broken shape has been noted already
		d.note(R020)
	case r.form.closed && r.trust.form.closed:
		r.raw = d.src[from:d.json.InputOffset()]
	}
	d.inexact = outside
	return r
}

// exchange checks what the receipt says about one exchange (R021 to R024).
func (c *checker) exchange() {
	r := &c.b.receipt
	request := c.want(r.request, isDigest, R021, at("/receipt/request_digest"))
	response := c.want(r.response, isDigest, R021, at("/receipt/response_digest"))
	c.host, _ = endpointHost(r.endpoint.s)
	c.want(r.endpoint, func(string) bool { return c.host != "" }, R022, at("/receipt/endpoint"))
	id := c.want(r.id, isIdentifier, R023, at("/receipt/receipt_id"))
	c.modelOK = c.want(r.model, isIdentifier, R023, at("/receipt/model_id"))
	seconds, isTime := parseTimestamp(r.time.s)
	isTime = c.want(r.time, func(string) bool { return isTime }, R023, at("/receipt/timestamp"))
	if isTime {
		c.time = seconds
		c.inWindow(seconds, R024, "/receipt/timestamp")
	}
	c.timeOK = isTime
	c.tupleOK = request && response && id && c.modelOK && isTime && c.host != "" && r.class.is(isClass)
}

// inWindow demands that an instant is not later than the caller allows (seed §5.6). Without a policy there is no window.
func (c *checker) inWindow(seconds int64, rule Rule, path string) {
	if c.policy != nil && seconds > c.policy.latest() {
		c.fail(rule, at(path))
	}
}
