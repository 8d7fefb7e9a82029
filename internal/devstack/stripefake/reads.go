package stripefake

import (
	"net/http"
	"time"
)

func (f *Fake) readMeter(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, ok := f.state.meters[r.PathValue("id")]
	if !ok {
		refuse(w, missing("billing meter", r.PathValue("id")))
		return
	}
	var window any
	if m.EventTimeWindow != "" {
		window = m.EventTimeWindow
	}
	write(w, http.StatusOK, text(map[string]any{
		"object": "billing.meter", "id": m.ID, "event_name": m.EventName, "display_name": m.EventName, "status": m.Status,
		"customer_mapping":    map[string]string{"event_payload_key": m.CustomerKey, "type": "by_id"},
		"default_aggregation": map[string]string{"formula": m.Formula},
		"value_settings":      map[string]string{"event_payload_key": m.ValueKey},
		"event_time_window":   window, "livemode": false,
	}))
}

func (f *Fake) readCustomer(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.state.customers[r.PathValue("id")]
	if !ok {
		refuse(w, missing("customer", r.PathValue("id")))
		return
	}
	body := map[string]any{"object": "customer", "id": c.ID, "livemode": false}
	if c.Deleted {
		body["deleted"] = true
	}
	write(w, http.StatusOK, text(body))
}

func (f *Fake) listSubscriptions(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data := []map[string]any{}
	for _, s := range f.state.customers[r.URL.Query().Get("customer")].Subscriptions {
		if s.Interval == "" {
			s.Interval = "month"
		}
		from, to := s.period(f.time())
		price := map[string]any{"object": "price", "id": "price_" + s.ID, "recurring": map[string]any{"interval": s.Interval, "interval_count": 1, "usage_type": "metered", "meter": s.MeterID}}
		data = append(data, map[string]any{
			"object": "subscription", "id": s.ID, "status": "active", "livemode": false, "billing_cycle_anchor": s.Anchor.Unix(),
			"current_period_start": from.Unix(), "current_period_end": to.Unix(),
			"items": map[string]any{"object": "list", "has_more": false, "data": []map[string]any{{"object": "subscription_item", "id": "si_" + s.ID, "price": price}}},
		})
	}
	write(w, http.StatusOK, text(map[string]any{"object": "list", "url": r.URL.Path, "has_more": false, "data": data}))
}

// period is the one that now lies in.
func (s Subscription) period(now time.Time) (from, to time.Time) {
	months := 1
	if s.Interval == "year" {
		months = 12
	}
	for n := range 10_000 {
		from, to = monthsAfter(s.Anchor, n*months), monthsAfter(s.Anchor, (n+1)*months)
		if now.Before(to) {
			break
		}
	}
	return from, to
}

// monthsAfter is the anchor's day n months later, or that month's last day where there is no such day.
func monthsAfter(anchor time.Time, n int) time.Time {
	anchor = anchor.UTC()
	first := time.Date(anchor.Year(), anchor.Month()+time.Month(n), 1, anchor.Hour(), anchor.Minute(), anchor.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(anchor.Day(), last)-1)
}
