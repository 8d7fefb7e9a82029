package billing_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/internal/strictjson"
	"ledgerd/metering/billing"
)

// ask is a question about customer acme, whose periods are the months of the calendar.
func ask(tb testing.TB, now string, lines ...billing.Line) billing.Ask {
	tb.Helper()
	c := config(tb)
	m, _ := c.Mapped("acme")
	return billing.Ask{Origin: "test.example/log", Revision: 3, Config: c, Mapping: m, Lines: lines, Now: at(now)}
}

func line(seq int64, asOf string, tokens int64) billing.Line {
	return billing.Line{Seq: seq, ProviderID: "wiki", AsOf: at(asOf), Tokens: tokens}
}

// brief is what matters of a plan, one text per intent and line that waits.
func brief(p billing.Plan) []string {
	list := []string{}
	for _, i := range p.Intents {
		carried := ""
		if i.Carried() {
			carried = " carried"
		}
		list = append(list, fmt.Sprintf("%d at %s of %s, %d claims%s", i.Event.Value, i.Event.Timestamp.Format("01-02T15:04:05"), i.Window.Start.Format("01-02T15:04"), len(i.Claims), carried))
	}
	for _, w := range p.Waiting {
		list = append(list, fmt.Sprintf("%d waits: %s", w.Tokens, w.Reason))
	}
	return list
}

func TestMake(t *testing.T) {
	t.Parallel()
	november := billing.Period{Start: at("2026-11-01T00:00:00Z"), End: at("2026-12-01T00:00:00Z")}
	december := billing.Period{Start: november.End, End: at("2027-01-01T00:00:00Z")}
	for name, c := range map[string]struct {
		now   string
		held  []billing.Held
		lines []billing.Line
		want  []string
	}{
		"nothing": {now: "2026-11-10T10:00:00Z", want: []string{}},
		"a window is open until it has settled": {
			now:   "2026-11-10T10:09:59Z",
			lines: []billing.Line{line(1, "2026-11-10T09:59:59.999Z", 5), line(2, "2026-11-10T08:59:59.999Z", 7), line(3, "2026-11-10T09:00:00Z", 9)},
			want:  []string{"7 at 11-10T08:59:59 of 11-10T08:00, 1 claims", "9 waits: window-open", "5 waits: window-open"},
		},
		"and then is one intent": {
			now:   "2026-11-10T10:10:00Z",
			lines: []billing.Line{line(1, "2026-11-10T09:59:59.999Z", 5), line(3, "2026-11-10T09:00:00Z", 9)},
			want:  []string{"14 at 11-10T09:59:59 of 11-10T09:00, 2 claims"},
		},
		"the month's last hour stays in its month": {
			now:   "2026-12-01T00:10:00Z",
			lines: []billing.Line{line(1, "2026-11-30T23:59:59.999999Z", 5), line(2, "2026-12-01T00:00:00Z", 6)},
			want:  []string{"5 at 11-30T23:59:59 of 11-30T23:00, 1 claims", "6 waits: window-open"},
		},
		"late usage of an open invoice": {
			now:   "2026-12-01T00:54:59Z",
			lines: []billing.Line{line(1, "2026-11-03T05:00:00Z", 5)},
			want:  []string{"5 at 11-03T05:59:59 of 11-03T05:00, 1 claims"},
		},
		"late usage of a final invoice is carried": {
			now:   "2026-12-01T00:55:30Z",
			lines: []billing.Line{line(1, "2026-11-03T05:00:00Z", 5)},
			want:  []string{"5 at 12-01T00:54:59 of 11-03T05:00, 1 claims carried"},
		},
		"what is not to be billed": {
			now: "2026-11-10T12:00:00Z",
			lines: []billing.Line{line(1, "2026-10-31T23:59:59Z", 5), {Seq: 2, ProviderID: "other", AsOf: at("2026-11-10T09:00:00Z"), Tokens: 6},
				line(3, "2026-11-10T09:00:00Z", billing.MaxValue+1)},
			want: []string{"5 waits: before-start", "6 waits: provider-not-counted", fmt.Sprintf("%d waits: too-large", int64(billing.MaxValue)+1)},
		},
		"34 days": {
			now:   "2026-12-14T12:00:00Z",
			lines: []billing.Line{line(1, "2026-11-10T10:59:59Z", 5), line(2, "2026-11-10T12:00:00Z", 6)},
			want:  []string{"6 at 12-14T11:59:59 of 11-10T12:00, 1 claims carried", "5 waits: too-old"},
		},
		"a correction within its window": {
			now:   "2026-11-10T12:00:00Z",
			lines: []billing.Line{line(9, "2026-11-10T09:00:00Z", -2), line(1, "2026-11-10T09:00:00Z", 5)},
			want:  []string{"3 at 11-10T09:59:59 of 11-10T09:00, 2 claims"},
		},
		"a correction of what was not sent cancels it": {
			now:   "2026-11-10T12:00:00Z",
			lines: []billing.Line{line(9, "2026-11-10T09:00:00Z", -5), line(1, "2026-11-10T09:00:00Z", 5)},
			want:  []string{"0 at 11-10T09:59:59 of 11-10T09:00, 2 claims"},
		},
		"a correction of what was sent": {
			now: "2026-11-10T12:00:00Z", held: []billing.Held{{Period: november, Tokens: 5}},
			lines: []billing.Line{line(9, "2026-11-10T09:00:00Z", -5)},
			want:  []string{"-5 at 11-10T09:59:59 of 11-10T09:00, 1 claims"},
		},
		"no more is taken back than is held": {
			now: "2026-11-10T12:00:00Z", held: []billing.Held{{Period: november, Tokens: 8}},
			lines: []billing.Line{line(9, "2026-11-10T09:00:00Z", -5), line(10, "2026-11-10T08:00:00Z", -5), line(11, "2026-11-10T09:30:00Z", -3)},
			want:  []string{"-5 at 11-10T08:59:59 of 11-10T08:00, 1 claims", "-3 at 11-10T09:59:59 of 11-10T09:00, 1 claims", "-5 waits: exceeds-period"},
		},
		"what the same plan adds is not held yet": {
			now:   "2026-11-10T12:00:00Z",
			lines: []billing.Line{line(1, "2026-11-10T08:00:00Z", 9), line(9, "2026-11-10T09:00:00Z", -5)},
			want:  []string{"9 at 11-10T08:59:59 of 11-10T08:00, 1 claims", "-5 waits: exceeds-period"},
		},
		"a correction of a final invoice goes to the open period": {
			now: "2026-12-03T12:00:10Z", held: []billing.Held{{Period: december, Tokens: 6}},
			lines: []billing.Line{line(9, "2026-11-20T09:00:00Z", -5), line(10, "2026-11-20T09:00:00Z", -4)},
			want:  []string{"-5 at 12-03T11:59:59 of 11-20T09:00, 1 claims carried", "-4 waits: exceeds-period"},
		},
		"values are split at 15 digits": {
			now:   "2026-11-10T12:00:00Z",
			lines: []billing.Line{line(1, "2026-11-10T09:00:00Z", billing.MaxValue-1), line(2, "2026-11-10T09:00:00Z", 1), line(3, "2026-11-10T09:00:00Z", 1)},
			want:  []string{"999999999999999 at 11-10T09:59:59 of 11-10T09:00, 2 claims", "1 at 11-10T09:59:59 of 11-10T09:00, 1 claims"},
		},
	} {
		a := ask(t, c.now, c.lines...)
		a.Held = c.held
		if got := brief(billing.Make(a)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// An anchor in the middle of an hour cuts that hour in two, so that each part is billed in its own period.
// Nothing before PlannedFrom is ever planned, and what is planned does not begin much later.
func TestPlannedFrom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ now, want string }{
		"from the start":     {"2026-11-10T12:00:00Z", "2026-11-01T00:00:00Z"},
		"as far as is taken": {"2027-02-10T12:30:00Z", "2027-01-07T11:30:00Z"},
	} {
		conf := config(t)
		from := conf.PlannedFrom(at(c.now))
		if !from.Equal(at(c.want)) {
			t.Errorf("%s: %v", name, from)
		}
		p := billing.Make(ask(t, c.now, line(1, from.Add(-time.Second).Format(time.RFC3339), 5), line(2, from.Add(2*time.Hour).Format(time.RFC3339), 5)))
		if len(p.Intents) != 1 || len(p.Waiting) != 1 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestMakeCutsAtTheAnchor(t *testing.T) {
	t.Parallel()
	a := ask(t, "2026-12-30T14:00:00Z", line(1, "2026-12-30T12:33:59.9Z", 5), line(2, "2026-12-30T12:34:00Z", 6), line(3, "2026-12-30T12:34:55Z", 7))
	a.Mapping, _ = a.Config.Mapped("zeta") // 12:34:56, whose seconds are dropped
	a.Now = at("2026-12-30T13:10:00Z")
	want := []string{"5 at 12-30T12:33:59 of 12-30T12:00, 1 claims", "13 at 12-30T12:59:59 of 12-30T12:34, 2 claims"}
	if got := brief(billing.Make(a)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMakeBoundsIntents(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 100, 101, billing.MaxClaims, billing.MaxClaims + 1, 10_001} {
		a := ask(t, "2026-11-10T12:00:00Z")
		for i := range n {
			a.Lines = append(a.Lines, line(int64(i), "2026-11-10T09:00:00Z", 2))
		}
		p := billing.Make(a)
		sum := int64(0)
		for _, i := range p.Intents {
			sum += i.Event.Value
		}
		if len(p.Intents) != (n+billing.MaxClaims-1)/billing.MaxClaims || sum != int64(2*n) || len(p.Waiting) > 0 {
			t.Errorf("%d lines: %d intents of %d tokens", n, len(p.Intents), sum)
		}
	}
	a := ask(t, "2026-11-10T12:00:00Z")
	a.Config.Providers = nil
	for i := range 4_000 { // names as long and as quoted as they may be
		a.Lines = append(a.Lines, billing.Line{Seq: 1<<53 - 1 - int64(i), ProviderID: fmt.Sprintf("%s%04d", strings.Repeat(`"`, 508), i), AsOf: at("2026-11-10T09:00:00Z"), Tokens: 1e10})
	}
	claims := 0
	for _, i := range billing.Make(a).Intents {
		raw, err := i.JSON()
		if err != nil || len(raw) > billing.MaxClaimBytes+4096 {
			t.Errorf("an intent of %d bytes, %v", len(raw), err)
		}
		claims += len(i.Claims)
	}
	if claims != len(a.Lines) {
		t.Errorf("%d lines are claimed of %d", claims, len(a.Lines))
	}
}

func anyLines(t *rapid.T, n int) []billing.Line {
	lines := make([]billing.Line, rapid.IntRange(0, n).Draw(t, "lines"))
	for i := range lines {
		lines[i] = billing.Line{
			Seq: int64(i), ProviderID: rapid.SampledFrom([]string{"wiki", "north-llm", "other"}).Draw(t, "provider"),
			AsOf:   at("2026-10-20T00:00:00Z").Add(time.Duration(rapid.IntRange(0, 70*24*3600).Draw(t, "as_of")) * time.Second),
			Tokens: rapid.OneOf(rapid.Int64Range(-50, 100), rapid.SampledFrom([]int64{billing.MaxValue, -billing.MaxValue, billing.MaxValue + 1})).Draw(t, "tokens"),
		}
		if lines[i].Tokens == 0 {
			lines[i].Tokens = 1
		}
	}
	return lines
}

// Each line is planned or waits, once; every intent holds together, and reads back as it was written; order means nothing.
func TestMakeLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	c := config(t)
	rapid.Check(t, func(t *rapid.T) {
		c.Window = rapid.SampledFrom([]billing.Length{billing.Hour, billing.Day}).Draw(t, "window")
		a := billing.Ask{Origin: "o", Revision: 1, Config: c, Mapping: rapid.SampledFrom(c.Customers).Draw(t, "customer"), Lines: anyLines(t, 30),
			Now: at("2026-11-20T00:00:00Z").Add(time.Duration(rapid.IntRange(0, 40*24*3600).Draw(t, "now")) * time.Second)}
		for _, p := range c.OpenPeriods(a.Mapping, a.Now) {
			a.Held = append(a.Held, billing.Held{Period: p, Tokens: rapid.Int64Range(0, 100).Draw(t, "held")})
		}
		held := slices.Clone(a.Held)
		plan := billing.Make(a)
		if !reflect.DeepEqual(held, a.Held) {
			t.Fatal("the question was changed")
		}
		seen := map[int64]int64{}
		for _, w := range plan.Waiting {
			seen[w.Seq] += w.Tokens
		}
		back := map[time.Time]int64{}
		for _, i := range plan.Intents {
			for _, claim := range i.Claims {
				if _, twice := seen[claim.Seq]; twice {
					t.Fatalf("line %d is there twice", claim.Seq)
				}
				seen[claim.Seq] = claim.Tokens
			}
			checkIntent(t, a, i)
			if i.Event.Value < 0 {
				back[i.Period.Start] += i.Event.Value
			}
		}
		for _, l := range a.Lines {
			if seen[l.Seq] != l.Tokens {
				t.Fatalf("line %d has %d tokens, in the plan %d", l.Seq, l.Tokens, seen[l.Seq])
			}
		}
		for _, h := range held {
			if h.Tokens+back[h.Period.Start] < 0 {
				t.Fatalf("%d are taken back of a period that holds %d", back[h.Period.Start], h.Tokens)
			}
		}
		a.Lines = rapid.Permutation(a.Lines).Draw(t, "shuffled")
		if again := billing.Make(a); !reflect.DeepEqual(again, plan) {
			t.Fatalf("another order gives another plan:\n%q\n%q", brief(plan), brief(again))
		}
	})
}

func checkIntent(t *rapid.T, a billing.Ask, i billing.Intent) {
	if err := i.Check(); err != nil {
		t.Fatalf("%+v: %v", i, err)
	}
	ts := i.Event.Timestamp
	if ts.After(a.Now) || ts.Before(a.Now.Add(-billing.MaxAge)) || a.Config.Final(i.Period, a.Now) || len(i.Event.Identifier) > billing.MaxIdentifier {
		t.Fatalf("an event at %v can't be sent at %v", ts, a.Now)
	}
	raw, err := i.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := strictjson.Parse(raw, strictjson.Closed, billing.DecodeIntent)
	if err != nil || !reflect.DeepEqual(back, i) {
		t.Fatalf("read back as %+v, %v; written as %+v", back, err, i)
	}
}
