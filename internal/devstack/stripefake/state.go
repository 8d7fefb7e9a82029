package stripefake

import (
	"slices"
	"time"
)

// Meter is a billing meter.
type Meter struct {
	ID              string `json:"id"`
	EventName       string `json:"event_name"`
	Formula         string `json:"formula"`           // sum, count or last; "" is sum
	Status          string `json:"status"`            // active or inactive; "" is active
	EventTimeWindow string `json:"event_time_window"` // "", hour or day
	CustomerKey     string `json:"customer_key"`      // "" is stripe_customer_id
	ValueKey        string `json:"value_key"`         // "" is value
}

// Customer is a customer.
type Customer struct {
	ID            string         `json:"id"`
	Deleted       bool           `json:"deleted"`
	Subscriptions []Subscription `json:"subscriptions"`
}

// Subscription bills a customer in periods that begin at its anchor.
type Subscription struct {
	ID       string    `json:"id"`
	Anchor   time.Time `json:"anchor"`
	Interval string    `json:"interval"` // month or year; "" is month
	MeterID  string    `json:"meter"`
}

// Event is a meter event that was taken.
type Event struct {
	Identifier string    `json:"identifier"`
	EventName  string    `json:"event_name"`
	MeterID    string    `json:"meter"`
	Customer   string    `json:"customer"`
	Value      int64     `json:"value"`
	Timestamp  time.Time `json:"timestamp"`
	Received   time.Time `json:"received"`
	Visible    time.Time `json:"visible"` // when summaries have it
	Counted    bool      `json:"counted"` // false: taken with 200, and dropped
}

// reply is an answer that is kept under its Idempotency-Key.
type reply struct {
	Key    string    `json:"key"`
	Params string    `json:"params"`
	Status int       `json:"status"`
	Body   string    `json:"body"`
	At     time.Time `json:"at"`
}

// state is what a restart must not lose.
type state struct {
	Offset    time.Duration
	meters    map[string]Meter
	customers map[string]Customer
	events    []Event
	newest    map[string]time.Time // identifier → when it was last taken
	replies   map[string]reply
	reports   map[string]Report
}

func newState() state {
	return state{
		meters: map[string]Meter{}, customers: map[string]Customer{}, newest: map[string]time.Time{},
		replies: map[string]reply{}, reports: map[string]Report{},
	}
}

// record is a change of the state, and a line of the file. One member is set.
type record struct {
	Offset   *time.Duration `json:"offset,omitempty"`
	Meter    *Meter         `json:"meter,omitempty"`
	Customer *Customer      `json:"customer,omitempty"`
	Event    *Event         `json:"event,omitempty"`
	Reply    *reply         `json:"reply,omitempty"`
	Report   *Report        `json:"report,omitempty"`
}

func (s *state) apply(r record) {
	switch {
	case r.Offset != nil:
		s.Offset = *r.Offset
	case r.Meter != nil:
		s.meters[r.Meter.ID] = *r.Meter
	case r.Customer != nil:
		s.customers[r.Customer.ID] = *r.Customer
	case r.Event != nil:
		s.events = append(s.events, *r.Event)
		s.newest[r.Event.Identifier] = r.Event.Received
	case r.Reply != nil:
		s.replies[r.Reply.Key] = *r.Reply
	case r.Report != nil:
		s.reports[r.Report.ID] = *r.Report
	}
}

// keep applies a change and writes it down; the caller holds mu.
func (f *Fake) keep(r record) error {
	f.state.apply(r)
	if f.journal == nil {
		return nil
	}
	return f.journal.write(r)
}

// SetMeter makes or changes a meter.
func (f *Fake) SetMeter(m Meter) error {
	for at, standard := range map[*string]string{&m.Formula: "sum", &m.Status: "active", &m.CustomerKey: "stripe_customer_id", &m.ValueKey: "value"} {
		if *at == "" {
			*at = standard
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keep(record{Meter: &m})
}

// SetCustomer makes or changes a customer.
func (f *Fake) SetCustomer(c Customer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keep(record{Customer: &c})
}

// Events lists what was taken, in the order in which it came. "" stands for every meter or customer.
func (f *Fake) Events(meterID, customer string) []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.matching(meterID, customer))
}

func (f *Fake) matching(meterID, customer string) []Event {
	list := []Event{}
	for _, e := range f.state.events {
		if (meterID == "" || e.MeterID == meterID) && (customer == "" || e.Customer == customer) {
			list = append(list, e)
		}
	}
	return list
}

// Total is the sum of what counts of a customer on a meter, as the invoices will have it.
func (f *Fake) Total(meterID, customer string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sum int64
	for _, e := range f.matching(meterID, customer) {
		if e.Counted {
			sum += e.Value
		}
	}
	return sum
}

// HasMeter says whether there is a meter of that id.
func (f *Fake) HasMeter(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.state.meters[id]
	return ok
}
