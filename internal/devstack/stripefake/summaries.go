package stripefake

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// summary is what a meter holds for a customer in [from, to).
type summary struct {
	from, to time.Time
	value    float64
}

// listSummaries answers newest first, as Stripe does, and leaves out what holds nothing.
func (f *Fake) listSummaries(w http.ResponseWriter, r *http.Request) {
	q, id := r.URL.Query(), r.PathValue("id")
	f.mu.Lock()
	defer f.mu.Unlock()
	m, ok := f.state.meters[id]
	if !ok {
		refuse(w, missing("billing meter", id))
		return
	}
	if _, ok := f.state.customers[q.Get("customer")]; !ok {
		refuse(w, missing("customer", q.Get("customer")))
		return
	}
	from, to, step, no := span(q)
	if no != nil {
		refuse(w, no)
		return
	}
	page, more, no := paged(f.summarise(m, q.Get("customer"), from, to, step), q)
	if no != nil {
		refuse(w, no)
		return
	}
	data := []map[string]any{}
	for _, s := range page {
		data = append(data, map[string]any{
			"object": "billing.meter_event_summary", "id": s.id(), "meter": id, "livemode": false,
			"start_time": s.from.Unix(), "end_time": s.to.Unix(), "aggregated_value": s.value,
		})
	}
	write(w, http.StatusOK, text(map[string]any{"object": "list", "url": r.URL.Path, "has_more": more, "data": data}))
}

func (s summary) id() string { return fmt.Sprintf("mtrusg_%d", s.from.Unix()) }

// span reads the bounds: whole minutes, or of the group, UTC.
func span(q url.Values) (from, to time.Time, step time.Duration, no *refusal) {
	step = time.Minute
	switch q.Get("value_grouping_window") {
	case "hour":
		step = time.Hour
	case "day":
		step = 24 * time.Hour
	}
	for name, at := range map[string]*time.Time{"start_time": &from, "end_time": &to} {
		seconds, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil {
			return from, to, step, invalid("parameter_invalid_integer", name, "Invalid integer: %s", q.Get(name))
		}
		*at = time.Unix(seconds, 0).UTC()
		if !at.Equal(at.Truncate(step)) {
			return from, to, step, invalid("", name, "The %s must align with %s boundaries.", name, step)
		}
	}
	if !from.Before(to) {
		return from, to, step, invalid("", "end_time", "The end_time must be later than the start_time.")
	}
	if q.Get("value_grouping_window") == "" {
		step = to.Sub(from)
	}
	return from, to, step, nil
}

// summarise adds up what counts and can be seen by now; the caller holds mu.
func (f *Fake) summarise(m Meter, customer string, from, to time.Time, step time.Duration) []summary {
	now := f.time()
	groups := map[int64][]Event{}
	for _, e := range f.matching(m.ID, customer) {
		if e.Counted && !e.Visible.After(now) && !e.Timestamp.Before(from) && e.Timestamp.Before(to) {
			n := int64(e.Timestamp.Sub(from) / step)
			groups[n] = append(groups[n], e)
		}
	}
	var all []summary
	for n, events := range groups {
		start := from.Add(time.Duration(n) * step)
		all = append(all, summary{from: start, to: start.Add(step), value: aggregate(m, events)})
	}
	slices.SortFunc(all, func(a, b summary) int { return b.from.Compare(a.from) })
	return all
}

// aggregate is the meter's formula over the events of a group.
func aggregate(m Meter, events []Event) float64 {
	slices.SortStableFunc(events, func(a, b Event) int { return a.Timestamp.Compare(b.Timestamp) })
	switch m.EventTimeWindow {
	case "hour":
		events = lastOfEach(events, time.Hour)
	case "day":
		events = lastOfEach(events, 24*time.Hour)
	}
	switch m.Formula {
	case "count":
		return float64(len(events))
	case "last":
		return float64(events[len(events)-1].Value)
	}
	sum := 0.0
	for _, e := range events {
		sum += float64(e.Value)
	}
	return sum
}

// lastOfEach keeps the last event of each window: a meter with an event_time_window counts no other.
func lastOfEach(events []Event, window time.Duration) []Event {
	var kept []Event
	for i, e := range events {
		if i+1 == len(events) || !events[i+1].Timestamp.Truncate(window).Equal(e.Timestamp.Truncate(window)) {
			kept = append(kept, e)
		}
	}
	return kept
}

// paged cuts a page of a list out.
func paged(all []summary, q url.Values) (page []summary, more bool, no *refusal) {
	limit := 10
	if given := q.Get("limit"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 || n > 100 {
			return nil, false, invalid("parameter_invalid_integer", "limit", "The limit is 1 to 100.")
		}
		limit = n
	}
	if after := q.Get("starting_after"); after != "" {
		at := slices.IndexFunc(all, func(s summary) bool { return s.id() == after })
		if at < 0 {
			return nil, false, missing("summary", after)
		}
		all = all[at+1:]
	}
	return all[:min(limit, len(all))], len(all) > limit, nil
}

// getInvoice tells what a price with transform_quantity[round]=up bills of what counts in [start, end). A negative sum is
// billed as nothing.
func (f *Fake) getInvoice(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, to, _, no := span(q)
	divideBy, err := strconv.ParseInt(q.Get("divide_by"), 10, 64)
	if no != nil || err != nil || divideBy < 1 {
		refuse(w, invalid("", "", "start_time and end_time in seconds on whole minutes, and divide_by, are needed."))
		return
	}
	usage, units := f.Invoice(q.Get("meter"), q.Get("customer"), from, to, divideBy)
	write(w, http.StatusOK, text(map[string]int64{"usage": usage, "units": units}))
}

// Invoice sums what counts in [from, to) and divides it, rounding up.
func (f *Fake) Invoice(meterID, customer string, from, to time.Time, divideBy int64) (usage, units int64) {
	for _, e := range f.Events(meterID, customer) {
		if e.Counted && !e.Timestamp.Before(from) && e.Timestamp.Before(to) {
			usage += e.Value
		}
	}
	return usage, (max(usage, 0) + divideBy - 1) / divideBy
}
