package billing_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/metering/billing"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestPeriodAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ anchor, t, start, end string }{
		{"2026-01-31T00:00:00Z", "2026-02-14T00:00:00Z", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"},
		{"2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"},
		{"2026-01-31T00:00:00Z", "2026-03-30T23:59:59Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"},
		{"2026-01-31T00:00:00Z", "2026-04-30T00:00:00Z", "2026-04-30T00:00:00Z", "2026-05-31T00:00:00Z"},
		{"2028-01-30T00:00:00Z", "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-30T00:00:00Z"}, // a leap year
		{"2026-01-29T00:00:00Z", "2026-03-01T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-29T00:00:00Z"},
		{"2026-01-31T12:30:00Z", "2026-02-28T12:29:59Z", "2026-01-31T12:30:00Z", "2026-02-28T12:30:00Z"},
		{"2026-01-31T12:30:00Z", "2026-02-28T12:30:00Z", "2026-02-28T12:30:00Z", "2026-03-31T12:30:00Z"},
		{"2026-12-15T00:00:00Z", "2027-01-01T00:00:00Z", "2026-12-15T00:00:00Z", "2027-01-15T00:00:00Z"},
		{"2026-05-31T00:00:00Z", "2026-02-01T00:00:00Z", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"}, // before the anchor
		{"2026-05-31T00:00:00Z", "2025-12-31T00:00:00Z", "2025-12-31T00:00:00Z", "2026-01-31T00:00:00Z"},
		{"2026-01-10T08:15:42Z", "2026-02-10T08:15:10Z", "2026-02-10T08:15:00Z", "2026-03-10T08:15:00Z"}, // seconds are dropped
	} {
		want := billing.Period{Start: at(c.start), End: at(c.end)}
		if got := billing.PeriodAt(at(c.anchor), at(c.t)); !got.Equal(want) {
			t.Errorf("anchor %s at %s: %v, want %v", c.anchor, c.t, got, want)
		}
	}
}

func instants(t *rapid.T, name string) time.Time {
	return time.Unix(rapid.Int64Range(at("2020-01-01T00:00:00Z").Unix(), at("2032-01-01T00:00:00Z").Unix()).Draw(t, name), 0).UTC()
}

// Periods and windows cover time without gap or overlap, and no window reaches over the beginning of a period.
func TestWindowsTileTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		anchor, when := instants(t, "anchor"), instants(t, "at")
		c := billing.Config{Window: rapid.SampledFrom([]billing.Length{billing.Hour, billing.Day}).Draw(t, "window")}
		p, w := billing.PeriodAt(anchor, when), c.WindowAt(anchor, when)
		if !p.Contains(when) || !w.Contains(when) {
			t.Fatalf("%v is in neither %v nor %v", when, p, w)
		}
		for _, edge := range []time.Time{p.Start, p.End, w.Start, w.End} {
			if !edge.Equal(edge.Truncate(time.Minute)) {
				t.Fatalf("%v is no whole minute", edge)
			}
		}
		if next := billing.PeriodAt(anchor, p.End); !next.Start.Equal(p.End) || !billing.PeriodAt(anchor, p.Start.Add(-time.Second)).End.Equal(p.Start) {
			t.Fatalf("after %v comes %v", p, next)
		}
		if next := c.WindowAt(anchor, w.End); !next.Start.Equal(w.End) || !c.WindowAt(anchor, w.Start.Add(-time.Second)).End.Equal(w.Start) {
			t.Fatalf("after %v comes %v", w, next)
		}
		if w.Start.Before(p.Start) || p.End.Before(w.End) || !p.Contains(w.End.Add(-time.Second)) {
			t.Fatalf("window %v reaches out of period %v", w, p)
		}
		if days := p.End.Sub(p.Start).Hours() / 24; days < 28 || days > 31 {
			t.Fatalf("period %v has %v days", p, days)
		}
		if p.Start.Hour() != anchor.Hour() || p.Start.Minute() != anchor.Minute() || p.Start.Day() > anchor.Day() || p.Start.Day() < min(anchor.Day(), 28) {
			t.Fatalf("a period of anchor %v starts at %v", anchor, p.Start)
		}
	})
}

func TestFinal(t *testing.T) {
	t.Parallel()
	p := billing.Period{Start: at("2026-11-01T00:00:00Z"), End: at("2026-12-01T00:00:00Z")}
	for _, c := range []struct {
		grace time.Duration
		now   string
		want  bool
	}{
		{time.Hour, "2026-12-01T00:54:59Z", false}, {time.Hour, "2026-12-01T00:55:00Z", true},
		{0, "2026-11-30T23:59:59Z", false}, {0, "2026-12-01T00:00:00Z", true}, {time.Minute, "2026-12-01T00:00:00Z", true},
	} {
		if got := (billing.Config{InvoiceGrace: c.grace}).Final(p, at(c.now)); got != c.want {
			t.Errorf("grace %v at %s: %v", c.grace, c.now, got)
		}
	}
}
