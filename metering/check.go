package metering

import (
	"math/big"
	"math/bits"
	"strconv"
)

// Identity names one of the three equations that make a report consistent.
type Identity string

// The equations, in the order in which Check tries them for the report and then for each row.
const (
	// IdentityTotal: budget_consumed = Σ providers[].token_cost.
	IdentityTotal Identity = "total"
	// IdentityRowCount: frames_served = the number of served_frames.
	IdentityRowCount Identity = "row-count"
	// IdentityRowCost: token_cost = Σ served_frames[].token_cost.
	IdentityRowCost Identity = "row-cost"
)

// InconsistentError is the first equation that does not hold. Its numbers are the report's own; it holds no names.
type InconsistentError struct {
	// Identity is the equation.
	Identity Identity
	// Row is the index in Providers of the row that fails, or -1 for IdentityTotal.
	Row int
	// Declared is what the report claims, in tokens, or in frames for IdentityRowCount.
	Declared uint64
	// Summed is what its parts add up to. It is exact, and exceeds 64 bits where the sum does.
	Summed *big.Int
}

// Pointer is the place of the claim, from the report's root.
func (e *InconsistentError) Pointer() string {
	switch row := "/providers/" + strconv.Itoa(e.Row); e.Identity {
	case IdentityRowCount:
		return row + "/frames_served"
	case IdentityRowCost:
		return row + "/token_cost"
	}
	return "/budget_consumed"
}

func (e *InconsistentError) Error() string {
	return "checking the " + string(e.Identity) + " at " + e.Pointer() + ": declared " +
		strconv.FormatUint(e.Declared, 10) + ", summed " + e.Summed.String()
}

// Check is the arithmetic identity of context-reuse §2 (UR1), UsageReport::is_consistent in the reference: the total, then
// each row's count and cost. The error is an *InconsistentError. Sums are exact: one beyond 64 bits never equals a claim,
// where the reference would wrap or panic and then fail on a row.
func Check(r UsageReport) error {
	if total := sumRows(r.Providers); !total.equals(r.BudgetConsumed) {
		return &InconsistentError{IdentityTotal, -1, r.BudgetConsumed, total.big()}
	}
	for i, p := range r.Providers {
		if count := uint64(len(p.ServedFrames)); count != uint64(p.FramesServed) {
			return &InconsistentError{IdentityRowCount, i, uint64(p.FramesServed), new(big.Int).SetUint64(count)}
		}
		if cost := sumFrames(p.ServedFrames); !cost.equals(p.TokenCost) {
			return &InconsistentError{IdentityRowCost, i, p.TokenCost, cost.big()}
		}
	}
	return nil
}

// sum is an exact sum of fewer than 2^64 64-bit terms.
type sum struct{ hi, lo uint64 }

func sumRows(rows []ProviderUsage) (s sum) {
	for _, p := range rows {
		s.add(p.TokenCost)
	}
	return s
}

func sumFrames(served []ServedFrame) (s sum) {
	for _, f := range served {
		s.add(uint64(f.TokenCost))
	}
	return s
}

func (s *sum) add(v uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, v, 0)
	s.hi += carry
}

func (s sum) equals(v uint64) bool { return s.hi == 0 && s.lo == v }

func (s sum) overflows() bool { return s.hi != 0 }

func (s sum) big() *big.Int {
	n := new(big.Int).SetUint64(s.hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(s.lo))
}
