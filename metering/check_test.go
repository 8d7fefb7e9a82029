package metering

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"ledgerd/frames"
)

func row(provider string, served uint32, cost uint64, costs ...uint32) ProviderUsage {
	p := ProviderUsage{ProviderID: provider, FramesServed: served, TokenCost: cost}
	for i, c := range costs {
		id := frames.FrameID{ProviderID: provider, FrameID: string(rune('a' + i)), ContentDigest: frames.SomeDigest("x")}
		p.ServedFrames = append(p.ServedFrames, ServedFrame{id, c})
	}
	return p
}

func TestCheckNamesTheFailingTerm(t *testing.T) {
	two63 := uint64(1) << 63
	for name, tt := range map[string]struct {
		report  UsageReport
		want    string
		pointer string
	}{
		"empty": {UsageReport{}, "", ""},
		"consistent": {UsageReport{BudgetConsumed: 50, Providers: []ProviderUsage{
			row("a", 2, 42, 30, 12), row("b", 1, 8, 8)}}, "", ""},
		"32-bit maxima": {UsageReport{BudgetConsumed: 2 * math.MaxUint32, Providers: []ProviderUsage{
			row("a", 2, 2*math.MaxUint32, math.MaxUint32, math.MaxUint32)}}, "", ""},
		"total": {UsageReport{BudgetConsumed: 51, Providers: []ProviderUsage{row("a", 2, 42, 30, 12), row("b", 1, 8, 8)}},
			"checking the total at /budget_consumed: declared 51, summed 50", "/budget_consumed"},
		"total before rows": {UsageReport{BudgetConsumed: 1, Providers: []ProviderUsage{row("a", 9, 2)}},
			"checking the total at /budget_consumed: declared 1, summed 2", "/budget_consumed"},
		"compensating rows": {UsageReport{BudgetConsumed: 50, Providers: []ProviderUsage{row("a", 2, 47, 30, 12), row("b", 1, 3, 8)}},
			"checking the row-cost at /providers/0/token_cost: declared 47, summed 42", "/providers/0/token_cost"},
		"count": {UsageReport{BudgetConsumed: 50, Providers: []ProviderUsage{row("a", 2, 42, 30, 12), row("b", 2, 8, 8)}},
			"checking the row-count at /providers/1/frames_served: declared 2, summed 1", "/providers/1/frames_served"},
		"not itemised": {UsageReport{BudgetConsumed: 8, Providers: []ProviderUsage{row("b", 1, 8)}},
			"checking the row-count at /providers/0/frames_served: declared 1, summed 0", "/providers/0/frames_served"},
		"wrap-around": {UsageReport{Providers: []ProviderUsage{row("a", 0, two63), row("b", 0, two63)}},
			"checking the total at /budget_consumed: declared 0, summed 18446744073709551616", "/budget_consumed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(tt.report)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var e *InconsistentError
			if !errors.As(err, &e) || e.Error() != tt.want || e.Pointer() != tt.pointer {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// anyReport draws reports that are consistent, nearly so, or far from it, with rows and frames that repeat.
func anyReport(t *rapid.T) UsageReport {
	names := rapid.SampledFrom([]string{"", "a", "b"})
	costs := rapid.OneOf(rapid.Uint32Range(0, 3), rapid.Just(uint32(math.MaxUint32)))
	r := UsageReport{AsOf: "2031-03-04T05:06:07Z", BudgetRequested: rapid.Uint32Range(0, 9).Draw(t, "budget")}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		p := ProviderUsage{ProviderID: names.Draw(t, "provider")}
		for range rapid.IntRange(0, 3).Draw(t, "frames") {
			s := ServedFrame{frames.FrameID{ProviderID: names.Draw(t, "of"), FrameID: names.Draw(t, "frame")}, costs.Draw(t, "cost")}
			p.ServedFrames = append(p.ServedFrames, s)
			p.TokenCost += uint64(s.TokenCost)
			p.FramesServed++
		}
		switch rapid.IntRange(0, 9).Draw(t, "lie") {
		case 0:
			p.TokenCost = rapid.Uint64().Draw(t, "row cost")
		case 1:
			p.FramesServed++
		}
		r.Providers = append(r.Providers, p)
		r.BudgetConsumed += p.TokenCost // wraps, on purpose, as the reference's sum does
	}
	if rapid.IntRange(0, 9).Draw(t, "total lie") == 0 {
		r.BudgetConsumed++
	}
	return r
}

// consistentByBigInt is the identity as plainly as it can be written.
func consistentByBigInt(r UsageReport) bool {
	total := new(big.Int)
	for _, p := range r.Providers {
		total.Add(total, new(big.Int).SetUint64(p.TokenCost))
		cost := new(big.Int)
		for _, s := range p.ServedFrames {
			cost.Add(cost, big.NewInt(int64(s.TokenCost)))
		}
		if cost.Cmp(new(big.Int).SetUint64(p.TokenCost)) != 0 || len(p.ServedFrames) != int(p.FramesServed) {
			return false
		}
	}
	return total.Cmp(new(big.Int).SetUint64(r.BudgetConsumed)) == 0
}

func TestCheckAgreesWithBigInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyReport(t)
		if got, want := Check(r) == nil, consistentByBigInt(r); got != want {
			t.Fatalf("Check %v, big.Int %v: %+v", got, want, r)
		}
	})
}

// TestNoSingleNumberCanBeChanged mangles every number of a consistent report: each change must be caught.
func TestNoSingleNumberCanBeChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := UsageReport{BudgetConsumed: 50, Providers: []ProviderUsage{row("a", 2, 42, 30, 12), row("b", 1, 8, 8)}}
		by := rapid.Uint32Range(1, math.MaxUint32).Draw(t, "by")
		p := &r.Providers[rapid.IntRange(0, 1).Draw(t, "row")]
		switch rapid.IntRange(0, 3).Draw(t, "number") {
		case 0:
			r.BudgetConsumed += uint64(by)
		case 1:
			p.TokenCost += uint64(by)
		case 2:
			p.FramesServed += by
		case 3:
			p.ServedFrames[0].TokenCost += by
		}
		if Check(r) == nil {
			t.Fatalf("a change went unnoticed: %+v", r)
		}
	})
}
