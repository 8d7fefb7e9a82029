package audit

import (
	"math/big"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// The levels of a dispute, from the processor's event down to the consent.
const (
	LevelConfirmed = "confirmed" // of the claims: what the payment processor was recorded to have counted
	LevelIntents   = "intents"   // what it was to be told: an intent's value, or its claims in question where it has others too
	LevelClaims    = "claims"    // what intents claim of the usage in question
	LevelReports   = "reports"   // what was reported, corrections included
	LevelFrames    = "frames"    // what the served frames cost, one by one
	LevelConsented = "consented" // of the reports: what consent covered at its instant; corrections are taken as their reports
)

// levels adds up each level.
func (d *dispute) levels() []kinds.DisputeLevel {
	confirmed, intents := d.billed()
	claims, reports, frames, consented := &sum{}, &sum{}, &sum{}, &sum{}
	for _, c := range d.Claims {
		claims.add(c.UsageSeq, c.Tokens)
	}
	for i := range d.Lines {
		l := &d.Lines[i]
		reports.add(l.Seq, l.Tokens)
		frames.add(l.Seq, l.FrameCost)
		if r, judged := d.rulings[lineKey{l.Seq, l.ProviderID}]; !judged || r.Covered() {
			consented.add(l.Seq, l.Tokens)
		}
	}
	return []kinds.DisputeLevel{
		confirmed.level(LevelConfirmed), intents.level(LevelIntents), claims.level(LevelClaims), reports.level(LevelReports),
		frames.level(LevelFrames), consented.level(LevelConsented),
	}
}

// billed adds up intents, and those of them whose event, or a replacement's, is confirmed.
func (d *dispute) billed() (confirmed, intents *sum) {
	confirmed, intents = &sum{}, &sum{}
	claimed := map[int64]int64{}
	claims := map[int64]int{}
	for _, c := range d.Claims {
		claimed[c.Intent] += c.Tokens
		claims[c.Intent]++
	}
	counted := map[int64]bool{} // intents of which an event is confirmed
	for i := range d.Intents {
		if x := &d.Intents[i]; x.State == billing.Confirmed {
			counted[d.original(x)] = true
		}
	}
	for _, x := range d.Intents {
		if x.Intent.Replaces != 0 {
			continue
		}
		value := x.Intent.Event.Value
		if claims[x.Seq] != len(x.Intent.Claims) {
			value = claimed[x.Seq]
		}
		intents.add(x.Seq, value)
		if counted[x.Seq] {
			confirmed.add(x.Seq, value)
		}
	}
	return confirmed, intents
}

// original is the intent whose claims one stands for.
func (d *dispute) original(x *DisputedIntent) int64 {
	for range d.Intents {
		before := d.intents[x.Intent.Replaces]
		if x.Intent.Replaces == 0 || before == nil {
			break
		}
		x = before
	}
	return x.Seq
}

// sum is a total over entries, exact.
type sum struct {
	entries map[int64]bool
	tokens  big.Int
}

func (s *sum) add(seq, tokens int64) {
	if s.entries == nil {
		s.entries = map[int64]bool{}
	}
	s.entries[seq] = true
	s.tokens.Add(&s.tokens, big.NewInt(tokens))
}

func (s *sum) level(name string) kinds.DisputeLevel {
	return kinds.DisputeLevel{Level: name, Entries: int64(len(s.entries)), Tokens: s.tokens.String()}
}

// differences lists where a level's tokens are not those of the one before.
func differences(levels []kinds.DisputeLevel) []kinds.DisputeDifference {
	list := []kinds.DisputeDifference{}
	for i := 1; i < len(levels); i++ {
		before, ok1 := new(big.Int).SetString(levels[i-1].Tokens, 10)
		this, ok2 := new(big.Int).SetString(levels[i].Tokens, 10)
		if ok1 && ok2 && before.Cmp(this) != 0 {
			list = append(list, kinds.DisputeDifference{Level: levels[i].Level, Before: levels[i-1].Level, Tokens: this.Sub(this, before).String()})
		}
	}
	return list
}
