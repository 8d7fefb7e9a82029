package billing

import (
	"fmt"
	"slices"
	"time"
)

// CheckMeter says why nothing may be sent to a meter under the configuration, "" when nothing is against it. A meter with an
// event_time_window keeps only the last event of each hour or day, so that deltas of one window would replace each other.
func CheckMeter(c Config, m Meter) string {
	for _, fault := range []struct {
		is, want string
		what     string
	}{
		{m.ID, c.MeterID, "id"},
		{m.EventName, c.EventName, "event_name"},
		{m.Formula, "sum", "aggregation formula"},
		{m.Status, "active", "status"},
		{m.EventTimeWindow, "", "event_time_window"},
		{m.CustomerMapping, "by_id", "customer mapping"},
		{m.CustomerKey, c.CustomerKey, "customer key"},
		{m.ValueKey, c.ValueKey, "value key"},
	} {
		if fault.is != fault.want {
			return fmt.Sprintf("the meter's %s is %q and must be %q", fault.what, fault.is, fault.want)
		}
	}
	return ""
}

// CheckCustomer says why nothing may be sent for a customer, "" when nothing is against it. Its periods at the processor must be
// the configured ones: usage would else be put on another invoice than the one that was meant. A customer without a
// subscription on the meter is not billed yet; what it uses counts from the subscription's own start on.
func CheckCustomer(c Config, m Mapping, of Customer, now time.Time) string {
	if of.ID != m.Customer || of.Deleted {
		return "the payment processor's customer is deleted"
	}
	for _, s := range of.Subscriptions {
		if !slices.Contains(s.MeterIDs, c.MeterID) {
			continue
		}
		if s.Interval != "month" || s.IntervalCount != 1 {
			return fmt.Sprintf("the subscription is billed every %d %s, and windows are planned for every month", s.IntervalCount, s.Interval)
		}
		// Its own periods, computed from its anchor at now: the answer may be of a moment before a period's end.
		if want, have := PeriodAt(m.BillingAnchor, now), PeriodAt(s.Anchor, now); !want.Equal(have) {
			return fmt.Sprintf("the subscription's period begins at %s, and by the configured billing_anchor it would at %s",
				have.Start.Format(time.RFC3339), want.Start.Format(time.RFC3339))
		}
	}
	return ""
}
