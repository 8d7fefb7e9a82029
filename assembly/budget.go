package assembly

import (
	"cmp"
	"slices"
)

// The contract's "Budgeting, rendering, and final truncation", steps 1 to 8; section 6.1, C0-R310 … C0-R385.

// Allocation is what one position may return, fixed before anything is invoked.
type Allocation struct {
	Position int64 `json:"position"`
	Bounds
	// Skip is an attributed budget skip: an optional position that got nothing in some dimension (D-02).
	Skip bool `json:"skip"`
}

// share is what a position's rule says about the budget.
type share struct {
	position   int64
	isRequired bool
	minimum    Amount
	cap        Bounds
}

// budget is the outcome of the eight steps.
type budget struct {
	code            Code
	stage           Word // allocated, kernel_reserve or required_reserve
	ceiling         Amount
	pool            Amount
	requiredReserve *Amount
	allocations     []Allocation
}

// allocate runs the eight steps. It is not known when no limit is: then nothing can be derived.
func allocate(in budgetInput, shares []share) (b budget, known bool) {
	tokens, known := in.hardCeiling()
	if !known {
		return budget{}, false
	}
	b = budget{code: BudgetUnavailable, stage: "kernel_reserve", allocations: []Allocation{}}
	b.ceiling = Amount{in.items, in.bytes, tokens}
	b.pool = b.ceiling.minus(in.reserved)
	if (Amount{}).exceeds(b.pool) { // negative in some dimension (step 3)
		return b, true
	}
	var reserve Amount
	for _, s := range shares {
		if s.isRequired {
			reserve = reserve.plus(s.minimum)
		}
	}
	b.stage, b.requiredReserve = "required_reserve", &reserve
	if reserve.exceeds(b.pool) { // step 5
		return b, true
	}
	b.code, b.stage = "", "allocated"
	left := b.pool.minus(reserve) // step 6: minimums first, whatever the order
	shares = slices.Clone(shares)
	slices.SortStableFunc(shares, func(a, b share) int { return cmp.Compare(a.position, b.position) })
	for _, s := range shares { // step 7; nothing is given back (step 8)
		b.allocations = append(b.allocations, s.take(&left))
	}
	return b, true
}

// hardCeiling is the least of all known limits in tokens (D-04).
func (in budgetInput) hardCeiling() (least int64, known bool) {
	limits := []limit{in.tokens}
	for _, c := range in.candidates {
		limits = append(limits, c.input, c.context)
	}
	for _, l := range limits {
		if l.set && (!known || l.n < least) {
			least, known = l.n, true
		}
	}
	return least, known
}

// take allocates what is left up to the cap, less what is already reserved for the position, each dimension on its own.
func (s share) take(left *Amount) Allocation {
	var base Amount
	if s.isRequired {
		base = s.minimum
	}
	dimension := func(left *int64, cap, base int64) int64 {
		more := min(*left, max(cap-base, 0)) // an optional minimum is ignored, a required one is at most the cap (D-03)
		*left -= more
		return base + more
	}
	a := Allocation{Position: s.position}
	a.Items = dimension(&left.Items, s.cap.Items, base.Items)
	a.Bytes = dimension(&left.Bytes, s.cap.Bytes, base.Bytes)
	a.Tokens = dimension(&left.Tokens, s.cap.Tokens, base.Tokens)
	a.PerItemBytes = min(s.cap.PerItemBytes, a.Bytes) // D-22
	a.Skip = !s.isRequired && min(a.Items, a.Bytes, a.Tokens) == 0
	return a
}

func (a Amount) minus(b Amount) Amount {
	return Amount{a.Items - b.Items, a.Bytes - b.Bytes, a.Tokens - b.Tokens}
}
