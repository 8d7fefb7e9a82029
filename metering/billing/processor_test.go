package billing_test

import (
	"math"
	"testing"

	"ledgerd/metering/billing"
)

func TestSummaryTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value float64
		want  int64
		exact bool
	}{
		{0, 0, true}, {403, 403, true}, {-403, -403, true}, {1<<53 - 1, 1<<53 - 1, true}, {1 - 1<<53, 1 - 1<<53, true},
		{1 << 53, 0, false}, {-(1 << 53), 0, false}, {0.5, 0, false}, {math.Inf(1), 0, false}, {math.NaN(), 0, false},
	} {
		if got, exact := (billing.Summary{Value: c.value}).Tokens(); got != c.want || exact != c.exact {
			t.Errorf("%v: %d %t, not %d %t", c.value, got, exact, c.want, c.exact)
		}
	}
}
