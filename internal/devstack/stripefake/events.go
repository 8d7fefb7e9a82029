package stripefake

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What Stripe promises about identifiers, keys and timestamps.
const (
	remembered = 24 * time.Hour
	oldest     = 35 * 24 * time.Hour
	newest     = 5 * time.Minute
)

// createEvent takes a meter event.
func (f *Fake) createEvent(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, invalid("", "", "Invalid request body"))
		return
	}
	l := f.laneOf(r.PostForm)
	if !f.enter(l) {
		f.take("concurrent", l.customer)
		refuse(w, &refusal{status: http.StatusTooManyRequests, Type: "invalid_request_error", Code: "rate_limit", Message: "Only one concurrent call per customer and meter is allowed."})
		return
	}
	defer f.leave(l)
	t := f.take("create", l.customer)
	if t.Answer != "" && !t.Recorded {
		f.stick(r, t)
		t.answer(w, r)
		return
	}
	status, body := f.execute(r, t)
	if t.Answer != "" {
		f.stick(r, t)
		t.answer(w, r)
		return
	}
	t.wait(r)
	write(w, status, body)
}

// laneOf is what a call is serialised by.
func (f *Fake) laneOf(form url.Values) lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := lane{eventName: form.Get("event_name")}
	if m := f.meterOf(l.eventName); m != nil {
		l.customer = form.Get("payload[" + m.CustomerKey + "]")
	}
	return l
}

func (f *Fake) enter(l lane) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lanes[l] {
		return false
	}
	f.lanes[l] = true
	return true
}

func (f *Fake) leave(l lane) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lanes, l)
}

// execute answers by the key when it is known, and takes the event when not. Refusals are not kept, as with Stripe.
func (f *Fake) execute(r *http.Request, t Fault) (status int, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, params := r.Header.Get("Idempotency-Key"), r.PostForm.Encode()
	if kept, ok := f.state.replies[key]; ok && key != "" && f.time().Sub(kept.At) < remembered {
		if kept.Params != params {
			e := &refusal{status: http.StatusBadRequest, Type: "idempotency_error", Message: "Keys for idempotent requests can only be used with the same parameters they were first used with."}
			return e.status, e.body()
		}
		return kept.Status, kept.Body
	}
	e, no := f.accept(r.PostForm, t)
	if no != nil {
		return no.status, no.body()
	}
	payload := map[string]string{}
	for name, values := range r.PostForm {
		if inner, ok := strings.CutPrefix(name, "payload["); ok {
			payload[strings.TrimSuffix(inner, "]")] = values[0]
		}
	}
	answer := reply{Key: key, Params: params, Status: http.StatusOK, At: f.time(), Body: text(map[string]any{
		"object": "billing.meter_event", "created": e.Received.Unix(), "event_name": e.EventName, "identifier": e.Identifier,
		"livemode": false, "payload": payload, "timestamp": e.Timestamp.Unix(),
	})}
	err := f.keep(record{Event: e})
	if err == nil {
		err = f.keep(record{Reply: &answer})
	}
	if err == nil && t.Uncounted != "" {
		err = f.report(e, t.Uncounted)
	}
	if err != nil {
		no := &refusal{status: http.StatusInternalServerError, Type: "api_error", Message: fmt.Sprintf("The fake could not write its file: %v", err)}
		return no.status, no.body()
	}
	return answer.Status, answer.Body
}

// stick keeps an error under the key, so that it comes again.
func (f *Fake) stick(r *http.Request, t Fault) {
	if !t.Sticky || t.Answer != "error" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := t.refusal()
	f.state.replies[r.Header.Get("Idempotency-Key")] = reply{Params: r.PostForm.Encode(), Status: e.status, Body: e.body(), At: f.time()}
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]{1,15}$`)

// accept checks an event; the caller holds mu.
func (f *Fake) accept(form url.Values, t Fault) (*Event, *refusal) {
	for name := range form {
		if name != "event_name" && name != "identifier" && name != "timestamp" && !strings.HasPrefix(name, "payload[") {
			return nil, invalid("parameter_unknown", name, "Received unknown parameter: %s", name)
		}
	}
	m := f.meterOf(form.Get("event_name"))
	if m == nil {
		return nil, invalid("no_meter", "event_name", "No active meter found with event name '%s'.", form.Get("event_name"))
	}
	e := &Event{EventName: m.EventName, MeterID: m.ID, Customer: form.Get("payload[" + m.CustomerKey + "]"), Identifier: form.Get("identifier"), Received: f.time(), Counted: t.Uncounted == ""}
	e.Visible = e.Received.Add(time.Duration(t.LateSeconds) * time.Second)
	if c, ok := f.state.customers[e.Customer]; !ok || c.Deleted {
		return nil, invalid("resource_missing", "payload["+m.CustomerKey+"]", "No such customer: '%s'", e.Customer)
	}
	value := form.Get("payload[" + m.ValueKey + "]")
	if !wholeNumber.MatchString(value) {
		return nil, invalid("meter_event_invalid_value", "payload["+m.ValueKey+"]", "The value must be a whole number of at most 15 digits.")
	}
	e.Value, _ = strconv.ParseInt(value, 10, 64) // 15 digits fit
	if no := f.acceptTime(form.Get("timestamp"), e); no != nil {
		return nil, no
	}
	if len(e.Identifier) > 100 {
		return nil, invalid("parameter_invalid_string_long", "identifier", "The identifier is longer than 100 characters.")
	}
	if e.Identifier == "" {
		e.Identifier = fmt.Sprintf("made-up-%d", len(f.state.events))
	}
	if at, known := f.state.newest[e.Identifier]; known && e.Received.Sub(at) < remembered {
		return nil, invalid("", "", "An event already exists with identifier %s.", e.Identifier)
	}
	return e, nil
}

func (f *Fake) acceptTime(given string, e *Event) *refusal {
	e.Timestamp = e.Received.Truncate(time.Second)
	if given == "" {
		return nil
	}
	seconds, err := strconv.ParseInt(given, 10, 64)
	if err != nil {
		return invalid("parameter_invalid_integer", "timestamp", "Invalid integer: %s", given)
	}
	e.Timestamp = time.Unix(seconds, 0).UTC()
	if e.Received.Sub(e.Timestamp) > oldest {
		return invalid("timestamp_too_far_in_past", "timestamp", "The timestamp must be within the past 35 calendar days.")
	}
	if e.Timestamp.Sub(e.Received) > newest {
		return invalid("timestamp_in_future", "timestamp", "The timestamp must be at most 5 minutes in the future.")
	}
	return nil
}

// meterOf finds the active meter of an event name; the caller holds mu.
func (f *Fake) meterOf(eventName string) *Meter {
	for _, m := range f.state.meters {
		if m.EventName == eventName && m.Status == "active" {
			return &m
		}
	}
	return nil
}
