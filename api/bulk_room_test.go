package api_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"ledgerd/api"
)

// What streams have in flight is bounded in bytes: 4 MiB of one, 16 MiB of all, and always a line of each.
func TestBulkWindowIsBounded(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		name            string
		line, streams   int
		least, most     int // of one stream, in bytes
		leastAll, limit int // of all
	}{
		{"large lines", mib, 1, 4 * mib, 4 * mib, 4 * mib, 4 * mib},
		{"the largest line does not go in four times", mib + 1000, 1, 3 * mib, 4 * mib, 3 * mib, 4 * mib},
		{"more than a chunk", 300 << 10, 1, 3 * mib, 4 * mib, 3 * mib, 4 * mib},
		{"small lines", 1000, 1, 3 * mib, 4 * mib, 3 * mib, 4 * mib},
		{"four streams", mib, 4, 4 * mib, 4 * mib, 16 * mib, 16 * mib},
		{"streams that share", mib, 12, mib, 4 * mib, 16 * mib, 27 * mib},
		{"more streams than room", mib, 20, mib, 4 * mib, 20 * mib, 35 * mib},
	} {
		synctest.Test(t, func(t *testing.T) {
			text := strings.Repeat(strings.Repeat("x", c.line)+"\n", 8*mib/c.line)
			var bodies []io.Reader
			for range c.streams {
				bodies = append(bodies, strings.NewReader(text))
			}
			sum := 0
			for i, n := range api.InFlight(synctest.Wait, bodies...) {
				if sum += n; n < c.least || n > c.most {
					t.Errorf("%s: %d bytes of stream %d", c.name, n, i)
				}
			}
			if sum < c.leastAll || sum > c.limit {
				t.Errorf("%s: %d bytes", c.name, sum)
			}
		})
	}
}
