package billing_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/strictjson"
	"ledgerd/metering/billing"
)

// intent is one of five tokens in an hour of November, planned in time.
func intent(tb testing.TB) billing.Intent {
	tb.Helper()
	return billing.Make(ask(tb, "2026-11-10T12:00:00Z", line(1, "2026-11-10T09:00:00Z", 5))).Intents[0]
}

// The identifier of given bytes must never change: events that were sent are known by it.
func TestIdentifierIsFixed(t *testing.T) {
	t.Parallel()
	const want = "led1_94fa1f1c8e97517366b5171d11ed233d4dbe27c794b2b3c04a42c7bd0ee83d57"
	i := intent(t)
	if got := i.Event.Identifier; got != want {
		t.Errorf("the identifier is %s, want %s", got, want)
	}
	for name, change := range map[string]func(*billing.Intent){
		"origin":    func(i *billing.Intent) { i.Origin += "x" },
		"revision":  func(i *billing.Intent) { i.Revision++ },
		"meter":     func(i *billing.Intent) { i.MeterID += "x" },
		"event":     func(i *billing.Intent) { i.Event.EventName += "x" },
		"keys":      func(i *billing.Intent) { i.Event.CustomerKey += "x" },
		"customer":  func(i *billing.Intent) { i.Event.Customer += "x" },
		"value key": func(i *billing.Intent) { i.Event.ValueKey += "x" },
		"value":     func(i *billing.Intent) { i.Event.Value++ },
		"timestamp": func(i *billing.Intent) { i.Event.Timestamp = i.Event.Timestamp.Add(time.Second) },
		"window":    func(i *billing.Intent) { i.Window.Start = i.Window.Start.Add(time.Minute) },
		"period":    func(i *billing.Intent) { i.Period.End = i.Period.End.Add(time.Minute) },
		"claim":     func(i *billing.Intent) { i.Claims = []billing.Claim{{Seq: 2, ProviderID: "wiki", Tokens: 5}} },
		"replaces":  func(i *billing.Intent) { i.Replaces = 7 },
	} {
		other := i
		change(&other)
		if other.Identify() == i.Event.Identifier {
			t.Errorf("another %s has the same identifier", name)
		}
		if other.Check() == nil {
			t.Errorf("another %s is not noticed", name)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	c, i := config(t), intent(t)
	first := at("2026-11-10T12:00:00Z")
	tried := billing.Attempts{Count: 1, First: first, Last: first}
	zero := i
	zero.Event.Value = 0
	for name, d := range map[string]struct {
		intent   billing.Intent
		state    billing.State
		attempts billing.Attempts
		now      string
		want     billing.Decision
	}{
		"new":                      {i, billing.Planned, billing.Attempts{}, "2026-11-10T12:00:00Z", billing.Decision{Action: billing.Send}},
		"zero":                     {zero, billing.Planned, billing.Attempts{}, "2026-11-10T12:00:00Z", billing.Decision{Action: billing.Leave}},
		"confirmed":                {i, billing.Confirmed, tried, "2026-11-10T12:00:00Z", billing.Decision{Action: billing.Leave}},
		"parked":                   {i, billing.Parked, tried, "2026-11-10T12:00:00Z", billing.Decision{Action: billing.Leave}},
		"too early":                {i, billing.Planned, billing.Attempts{}, "2026-11-10T09:00:00Z", billing.Decision{Action: billing.Wait, Until: at("2026-11-10T09:55:59Z")}},
		"again":                    {i, billing.Planned, tried, "2026-11-11T07:59:59Z", billing.Decision{Action: billing.Send}},
		"again, not yet":           {i, billing.Planned, billing.Attempts{Count: 1, First: first, NextTry: at("2026-11-10T12:01:00Z")}, "2026-11-10T12:00:30Z", billing.Decision{Action: billing.Wait, Until: at("2026-11-10T12:01:00Z")}},
		"after 20 hours":           {i, billing.Planned, tried, "2026-11-11T08:00:00Z", billing.Decision{Action: billing.AskSummary}},
		"never sent, invoice made": {i, billing.Planned, billing.Attempts{}, "2026-12-01T00:55:00Z", billing.Decision{Action: billing.Replace, Cause: billing.ByInvoice}},
		"sent, invoice made":       {i, billing.Planned, tried, "2026-12-01T00:55:00Z", billing.Decision{Action: billing.AskSummary}},
		"sent lately, and final":   {i, billing.Planned, billing.Attempts{Count: 1, First: at("2026-12-01T00:50:00Z")}, "2026-12-01T00:55:00Z", billing.Decision{Action: billing.AskSummary}},
		"sent lately, not yet":     {i, billing.Planned, billing.Attempts{Count: 1, First: at("2026-12-01T00:50:00Z")}, "2026-12-01T00:54:59Z", billing.Decision{Action: billing.Send}},
		"sent lately, too old":     {i, billing.Planned, billing.Attempts{Count: 1, First: at("2026-12-14T12:00:00Z")}, "2026-12-14T13:00:00Z", billing.Decision{Action: billing.AskSummary}},
	} {
		if got := billing.Decide(c, d.intent, d.state, d.attempts, at(d.now)); got != d.want {
			t.Errorf("%s: %+v, want %+v", name, got, d.want)
		}
	}
}

// A replacement says the same under today's mapping, in a period that is still open, and claims nothing.
func TestReplacement(t *testing.T) {
	t.Parallel()
	c, old := config(t), intent(t)
	m, _ := c.Mapped("acme")
	same := billing.Replacement(old, 40, "o", 4, c, m, at("2026-11-11T09:00:00Z"))
	if err := same.Check(); err != nil || same.Event.Timestamp != old.Event.Timestamp || same.Event.Value != 5 || same.Replaces != 40 || same.Event.Identifier == old.Event.Identifier {
		t.Errorf("%+v, %v", same, err)
	}
	m.Customer = "cus_moved"
	later := billing.Replacement(old, 40, "o", 5, c, m, at("2026-12-03T09:00:30Z"))
	if err := later.Check(); err != nil || !later.Event.Timestamp.Equal(at("2026-12-03T08:59:59Z")) || !later.Carried() || later.Window != old.Window || later.Event.Customer != "cus_moved" {
		t.Errorf("%+v, %v", later, err)
	}
	edge := billing.Replacement(old, 40, "o", 5, c, m, at("2027-01-01T00:00:30Z"))
	if !edge.Event.Timestamp.Equal(at("2027-01-01T00:00:00Z")) {
		t.Errorf("in the first minute of a period it counts at %v", edge.Event.Timestamp)
	}
}

func TestSeeAndResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		confirmed, unresolved, total int64
		want                         billing.Seen
	}{
		{100, 5, 105, billing.SeenAll}, {100, 5, 100, billing.SeenNone}, {100, 5, 103, billing.Unclear}, {100, 5, 110, billing.Unclear},
		{100, -5, 95, billing.SeenAll}, {100, -5, 100, billing.SeenNone}, {100, 0, 100, billing.Unclear}, {math.MaxInt64, 1, math.MinInt64, billing.Unclear},
	} {
		if got := billing.See(c.confirmed, c.unresolved, c.total); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	now := at("2026-11-12T00:00:00Z")
	since := func(ago time.Duration) billing.Attempts { return billing.Attempts{AbsentSince: now.Add(-ago)} }
	for name, c := range map[string]struct {
		seen     billing.Seen
		attempts billing.Attempts
		want     billing.Resolution
	}{
		"there":         {billing.SeenAll, since(time.Hour), billing.Resolution{State: billing.Confirmed, Cause: billing.BySummary}},
		"unclear":       {billing.Unclear, since(48 * time.Hour), billing.Resolution{State: billing.Stopped, Cause: billing.ByDoubt}},
		"first absence": {billing.SeenNone, billing.Attempts{}, billing.Resolution{State: billing.Planned, Until: now.Add(time.Hour), AbsentSince: now}},
		"still absent":  {billing.SeenNone, since(24*time.Hour - 1), billing.Resolution{State: billing.Planned, Until: now.Add(time.Hour), AbsentSince: now.Add(1 - 24*time.Hour)}},
		"absent a day":  {billing.SeenNone, since(24 * time.Hour), billing.Resolution{State: billing.Replaced, Cause: billing.ByAbsence, AbsentSince: now.Add(-24 * time.Hour)}},
	} {
		if got := billing.Resolve(c.seen, c.attempts, now); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	now := at("2026-11-12T00:00:00Z")
	settled := now.Add(-billing.SummaryLag)
	for name, c := range map[string]struct {
		balance billing.Balance
		total   int64
		want    billing.Agreement
	}{
		"equal":               {billing.Balance{Confirmed: 100, Adding: 5, TakingBack: -3, LastConfirmed: now}, 100, billing.Agrees},
		"the lost one came":   {billing.Balance{Confirmed: 100, Adding: 5}, 105, billing.Unresolved},
		"a part came":         {billing.Balance{Confirmed: 100, Adding: 5}, 101, billing.Unresolved},
		"taken back":          {billing.Balance{Confirmed: 100, TakingBack: -3}, 97, billing.Unresolved},
		"more than ever sent": {billing.Balance{Confirmed: 100, Adding: 5}, 106, billing.Higher},
		"not there yet":       {billing.Balance{Confirmed: 100, LastConfirmed: settled.Add(1)}, 50, billing.Settling},
		"lost":                {billing.Balance{Confirmed: 100, LastConfirmed: settled}, 50, billing.Lower},
		"too large":           {billing.Balance{Confirmed: math.MaxInt64, Adding: 1}, 50, billing.Higher},
	} {
		if got := billing.Reconcile(c.balance, c.total, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempts int
		asked    time.Duration
		want     time.Duration
	}{
		{0, 0, 2 * time.Second}, {1, 0, 2 * time.Second}, {2, 0, 4 * time.Second}, {9, 0, 512 * time.Second}, {10, 0, 15 * time.Minute},
		{1 << 40, 0, 15 * time.Minute}, {1, time.Minute, time.Minute}, {1, 48 * time.Hour, time.Hour},
	} {
		if got := billing.Delay(c.attempts, c.asked); got != c.want {
			t.Errorf("after %d, asked for %v: %v, want %v", c.attempts, c.asked, got, c.want)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	for class, want := range map[billing.Class]billing.State{
		billing.Delivered: billing.Confirmed, billing.AlreadyExists: billing.Confirmed, billing.Rejected: billing.Parked,
		billing.Busy: billing.Planned, billing.Ambiguous: billing.Planned, "": billing.Planned,
	} {
		state, cause := billing.Judge(billing.Reply{Class: class})
		if state != want || (state == billing.Planned) != (cause == "") {
			t.Errorf("%s: %s, %s", class, state, cause)
		}
		if state != billing.Planned && !(billing.Outcome{Number: 1, State: state, Cause: cause}).Valid() {
			t.Errorf("%s, %s can't be recorded", state, cause)
		}
	}
	all := []billing.State{billing.Planned, billing.Confirmed, billing.Parked, billing.Stopped, billing.Replaced, billing.Settled}
	for _, s := range all {
		if billing.CanFollow(billing.Replaced, s) || billing.CanFollow(billing.Settled, s) || billing.CanFollow(s, s) || billing.CanFollow(s, billing.Planned) {
			t.Errorf("%s follows what it can't", s)
		}
	}
	if !billing.CanFollow(billing.Confirmed, billing.Parked) || billing.CanFollow(billing.Confirmed, billing.Stopped) {
		t.Error("a confirmed intent can be found not to count, and nothing else")
	}
}

func TestOutcomeReadsBack(t *testing.T) {
	t.Parallel()
	first := at("2026-11-10T12:00:00Z")
	o := billing.Outcome{Intent: 17, Identifier: intent(t).Event.Identifier, Number: 2, State: billing.Parked, Cause: billing.ByRefusal, Attempts: 3, FirstTry: &first,
		Status: 400, Code: "resource_missing", RequestID: "req_1", Detail: "no such customer"}
	raw, err := o.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := strictjson.Parse(raw, strictjson.Closed, billing.DecodeOutcome)
	if err != nil || !reflect.DeepEqual(back, o) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	o.Detail, o.FirstTry = strings.Repeat("ü\x00\xff", 400), nil
	if raw, err = o.JSON(); err != nil {
		t.Fatal(err)
	}
	if back, err = strictjson.Parse(raw, strictjson.Closed, billing.DecodeOutcome); err != nil || len(back.Detail) > billing.MaxDetail || strings.ContainsRune(back.Detail, 0) {
		t.Errorf("%q, %v", back.Detail, err)
	}
	for _, bad := range []string{`"cause":"rejected"`, `"state":"parked"`, `"number":2`} {
		broken := strings.Replace(string(raw), bad, strings.Split(bad, ":")[0]+`:`+map[bool]string{true: `0`, false: `"delivered"`}[strings.HasSuffix(bad, "2")], 1)
		if _, err := strictjson.Parse([]byte(broken), strictjson.Closed, billing.DecodeOutcome); err == nil {
			t.Errorf("%s is accepted", broken)
		}
	}
}

func FuzzDecodeIntent(f *testing.F) {
	raw, err := intent(f).JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, src []byte) {
		i, err := strictjson.Parse(src, strictjson.Closed, billing.DecodeIntent)
		if err != nil || i.Check() != nil {
			return
		}
		out, err := i.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := strictjson.Parse(out, strictjson.Closed, billing.DecodeIntent); err != nil || !reflect.DeepEqual(back, i) {
			t.Fatalf("read back as %+v, %v; was %+v", back, err, i)
		}
	})
}
