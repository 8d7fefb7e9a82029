package assembly

import "math"

// Amount is a size in the contract's three dimensions, each on its own.
type Amount struct {
	Items  int64 `json:"items"`
	Bytes  int64 `json:"bytes"`  // canonical UTF-8
	Tokens int64 `json:"tokens"` // by the snapshot's estimator
}

// Bounds is an amount and the most bytes that one item of it may have.
type Bounds struct {
	Amount
	PerItemBytes int64 `json:"per_item_bytes"`
}

// Size is a size of model input.
type Size struct {
	Tokens int64 `json:"tokens"`
	Bytes  int64 `json:"bytes"`
}

// saturated is a sum beyond every number that a record can hold. It stays what it is whatever is taken from it, so that a
// sum that wrapped can never pass for a small one.
const saturated = math.MaxInt64

// sum adds two sizes that are not negative.
func sum(a, b int64) int64 {
	if a > saturated-b {
		return saturated
	}
	return a + b
}

// less takes b from a sum that has it as a part.
func less(a, b int64) int64 {
	if a == saturated {
		return a
	}
	return a - b
}

func (a Amount) plus(b Amount) Amount {
	return Amount{sum(a.Items, b.Items), sum(a.Bytes, b.Bytes), sum(a.Tokens, b.Tokens)}
}

// exceeds says whether any dimension is greater.
func (a Amount) exceeds(b Amount) bool {
	return a.Items > b.Items || a.Bytes > b.Bytes || a.Tokens > b.Tokens
}

func (s Size) plus(t Size) Size { return Size{sum(s.Tokens, t.Tokens), sum(s.Bytes, t.Bytes)} }

func (s Size) minus(t Size) Size { return Size{less(s.Tokens, t.Tokens), less(s.Bytes, t.Bytes)} }

func (r reader) amount() (a Amount) {
	r.Object(into("items", &a.Items, r.count), into("bytes", &a.Bytes, r.count), into("tokens", &a.Tokens, r.count))
	return a
}

func (r reader) bounds() (b Bounds) {
	r.Object(
		into("items", &b.Items, r.count),
		into("bytes", &b.Bytes, r.count),
		into("tokens", &b.Tokens, r.count),
		into("per_item_bytes", &b.PerItemBytes, r.count),
	)
	return b
}

func (r reader) size() (s Size) {
	r.Object(into("tokens", &s.Tokens, r.count), into("bytes", &s.Bytes, r.count))
	return s
}
