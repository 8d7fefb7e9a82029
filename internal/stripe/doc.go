// Package stripe asks and tells Stripe what billing needs, and says of each answer what it is worth.
//
// An event is sent once per call: the client never retries by itself, and neither does the transport below it, since how often
// and how long something may be sent again depends on what is on record about it. The class of an answer:
//
//	2xx, the event itself in JSON                              delivered
//	400 invalid_request_error "An event already exists …"
//	    without a code, or with resource_already_exists        already-exists
//	409, 429, 503 with an error of Stripe's in JSON            busy, with Retry-After
//	401 and 403 to an event, likewise: the key is refused      busy
//	any other 4xx but 408, with an error of Stripe's in JSON   rejected
//	everything else: no answer, one that does not parse, HTML,
//	    redirects, 408, other 5xx                              ambiguous
//
// A proxy's page says nothing about what Stripe did, whatever its status. No secret is in an error or a log: the library's
// logging is off, and words that look like a key are struck out of Stripe's texts. Neither telemetry nor a description of this
// machine is sent.
package stripe
