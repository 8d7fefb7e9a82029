package billing_test

import (
	"strings"
	"testing"
	"time"

	"ledgerd/metering/billing"
)

func TestCheckMeter(t *testing.T) {
	t.Parallel()
	c := billing.Config{MeterID: "mtr", EventName: "tokens", CustomerKey: "who", ValueKey: "value"}
	right := billing.Meter{ID: "mtr", EventName: "tokens", Formula: "sum", Status: "active", CustomerMapping: "by_id", CustomerKey: "who", ValueKey: "value"}
	if fault := billing.CheckMeter(c, right); fault != "" {
		t.Fatal(fault)
	}
	for word, spoil := range map[string]func(*billing.Meter){
		"id":                func(m *billing.Meter) { m.ID = "mtr_2" },
		"event_name":        func(m *billing.Meter) { m.EventName = "frames" },
		"formula":           func(m *billing.Meter) { m.Formula = "count" },
		"status":            func(m *billing.Meter) { m.Status = "inactive" },
		"event_time_window": func(m *billing.Meter) { m.EventTimeWindow = "day" },
		"mapping":           func(m *billing.Meter) { m.CustomerMapping = "by_name" },
		"customer key":      func(m *billing.Meter) { m.CustomerKey = "stripe_customer_id" },
		"value key":         func(m *billing.Meter) { m.ValueKey = "amount" },
	} {
		m := right
		spoil(&m)
		if fault := billing.CheckMeter(c, m); !strings.Contains(fault, word) {
			t.Errorf("%s: %q", word, fault)
		}
	}
}

func TestCheckCustomer(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 2, 10, 0, 0, 0, 0, time.UTC)
	c := billing.Config{MeterID: "mtr"}
	m := billing.Mapping{Customer: "cus", BillingAnchor: time.Date(2026, 12, 31, 9, 30, 0, 0, time.UTC)}
	sub := func(change func(*billing.Subscription)) billing.Customer {
		s := billing.Subscription{Anchor: time.Date(2026, 10, 31, 9, 30, 45, 0, time.UTC), Interval: "month", IntervalCount: 1, MeterIDs: []string{"other", "mtr"}}
		change(&s)
		return billing.Customer{ID: "cus", Subscriptions: []billing.Subscription{s}}
	}
	for name, ok := range map[string]billing.Customer{
		"its anchor of another month": sub(func(*billing.Subscription) {}),
		"no subscription":             {ID: "cus"},
		"one on another meter":        sub(func(s *billing.Subscription) { s.MeterIDs, s.Interval = nil, "year" }),
	} {
		if fault := billing.CheckCustomer(c, m, ok, now); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for word, wrong := range map[string]billing.Customer{
		"deleted":                        {ID: "cus", Deleted: true},
		"2 month":                        sub(func(s *billing.Subscription) { s.IntervalCount = 2 }),
		"1 year":                         sub(func(s *billing.Subscription) { s.Interval = "year" }),
		"begins at 2027-02-01T00:00:00Z": sub(func(s *billing.Subscription) { s.Anchor = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }),
	} {
		if fault := billing.CheckCustomer(c, m, wrong, now); !strings.Contains(fault, word) {
			t.Errorf("%s: %q", word, fault)
		}
	}
}
