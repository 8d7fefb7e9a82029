package billing_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/metering/billing"
)

// life is a ledger in small: lines come in any order and late, are planned now and then, sent, lost and replaced.
type life struct {
	config  billing.Config
	mapping billing.Mapping
	now     time.Time
	lines   []billing.Line
	claimed map[int64]bool
	intents []billing.Intent
	state   []billing.State
}

// plan is what a run does: plan until nothing more is planned.
func (l *life) plan(t *rapid.T) {
	ask := billing.Ask{Origin: "o", Revision: 1, Config: l.config, Mapping: l.mapping, Now: l.now}
	for _, line := range l.lines {
		if !l.claimed[line.Seq] {
			ask.Lines = append(ask.Lines, line)
		}
	}
	for _, p := range l.config.OpenPeriods(l.mapping, l.now) {
		ask.Held = append(ask.Held, billing.Held{Period: p, Tokens: l.held(p)})
	}
	for _, i := range billing.Make(ask).Intents {
		for _, c := range i.Claims {
			if l.claimed[c.Seq] {
				t.Fatalf("line %d is claimed twice", c.Seq)
			}
			l.claimed[c.Seq] = true
		}
		l.intents, l.state = append(l.intents, i), append(l.state, billing.Planned)
	}
}

// held counts what is confirmed, and all that is or will be taken back.
func (l *life) held(p billing.Period) (sum int64) {
	for n, i := range l.intents {
		if p.Contains(i.Event.Timestamp) && (l.state[n] == billing.Confirmed || l.state[n] == billing.Planned && i.Event.Value < 0) {
			sum += i.Event.Value
		}
	}
	return sum
}

// send is what a run does then. fate says what becomes of an event: it arrives, it is lost, or it waits.
func (l *life) send(t *rapid.T, fate func() int) {
	for n := range l.intents { // those that are replaced now are sent by the next pass
		i := l.intents[n]
		switch d := billing.Decide(l.config, i, l.state[n], billing.Attempts{}, l.now); d.Action {
		case billing.Replace:
			l.replace(n, i)
		case billing.Send:
			switch fate() {
			case 0:
				l.state[n] = billing.Confirmed
				for _, p := range l.config.OpenPeriods(l.mapping, l.now) {
					if l.held(p) < 0 {
						t.Fatalf("the period of %v holds %d", p.Start, l.held(p))
					}
				}
			case 1:
				l.replace(n, i)
			}
		}
	}
}

func (l *life) replace(n int, i billing.Intent) {
	by := billing.Replacement(i, int64(n+1), "o", 1, l.config, l.mapping, l.now)
	if !billing.Fits(by, i, l.held(by.Period)) {
		return
	}
	l.state[n] = billing.Replaced
	l.intents = append(l.intents, by)
	l.state = append(l.state, billing.Planned)
}

// Whatever comes in whatever order, in the end each token of a counted line was told once, and no period ever held less than nothing.
func TestEachTokenIsToldOnce(t *testing.T) {
	t.Parallel()
	c := config(t)
	rapid.Check(t, func(t *rapid.T) {
		l := &life{config: c, mapping: rapid.SampledFrom(c.Customers).Draw(t, "customer"), now: at("2026-11-20T00:00:00Z"), claimed: map[int64]bool{}}
		l.config.Window = rapid.SampledFrom([]billing.Length{billing.Hour, billing.Day}).Draw(t, "window")
		corrected := map[int]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1: // a report of up to ten days ago
				late := time.Duration(rapid.IntRange(0, 10*24*3600).Draw(t, "late")) * time.Second
				l.lines = append(l.lines, billing.Line{Seq: int64(len(l.lines)), ProviderID: "wiki", AsOf: l.now.Add(-late), Tokens: rapid.Int64Range(1, 1000).Draw(t, "tokens")})
			case 2: // a correction of a report
				if len(l.lines) > 0 {
					if n := rapid.IntRange(0, len(l.lines)-1).Draw(t, "of"); l.lines[n].Tokens > 0 && !corrected[n] {
						corrected[n] = true
						l.lines = append(l.lines, billing.Line{Seq: int64(len(l.lines)), ProviderID: "wiki", AsOf: l.lines[n].AsOf, Tokens: -rapid.Int64Range(1, l.lines[n].Tokens).Draw(t, "back")})
					}
				}
			case 3:
				l.plan(t)
				l.send(t, func() int { return rapid.IntRange(0, 2).Draw(t, "fate") })
			case 4:
				l.now = l.now.Add(time.Duration(rapid.IntRange(1, 5*24*3600).Draw(t, "pass")) * time.Second)
			}
			if len(l.lines) > 0 && l.now.Sub(l.lines[0].AsOf) > 30*24*time.Hour {
				break // older usage is listed, and not told
			}
		}
		l.finish(t)
	})
}

func (l *life) finish(t *rapid.T) {
	l.now = l.now.Add(25 * time.Hour) // every window is over
	for range 3 {                     // what is taken back waits until what it is taken from is confirmed
		l.plan(t)
		l.send(t, func() int { return 0 })
	}
	var told, used int64
	for n, i := range l.intents {
		switch {
		case l.state[n] == billing.Confirmed:
			told += i.Event.Value
		case l.state[n] == billing.Planned && i.Event.Value < 0: // its period does not hold it yet
			told += i.Event.Value
		case l.state[n] == billing.Planned && i.Sends():
			t.Fatalf("%+v was never told", i)
		}
	}
	for _, line := range l.lines {
		waits := !l.claimed[line.Seq]
		if !waits {
			used += line.Tokens
		} else if line.Tokens > 0 && l.now.Sub(line.AsOf) < 33*24*time.Hour {
			t.Fatalf("line %d waits", line.Seq)
		}
	}
	if told != used {
		t.Fatalf("%d tokens are claimed and %d told", used, told)
	}
}
