package relay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
)

// correct writes the lines that a correction of the report n derives, under an entry of its own: fewer tokens and another frame
// in place of its first two, and one that takes back what cost nothing.
func (r *rig) correct(tb testing.TB, n int) {
	tb.Helper()
	o, err := r.Appender.Append(tb.Context(), ledgertest.Host, ledgertest.Consent(tb, fmt.Sprint("correction of ", n), "p"))
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := pgx.Connect(tb.Context(), r.AdminURL)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(tb.Context())
	const taken, report = `l.tenant, l.line, l.request_id, l.turn_id, l.customer_id, l.provider_id, l.as_of`, `ledger.usage_lines l JOIN ledger.entries e USING (seq) WHERE e.key = 'req-' || $2::int`
	for _, statement := range []string{
		`INSERT INTO ledger.usage_lines (seq, tenant, line, request_id, turn_id, customer_id, provider_id, as_of, frames_served, frames_rejected, tokens,
		                                 frame_providers, frame_ids, frame_digests, frame_tokens)
		 SELECT $1::bigint, ` + taken + `, -1, -1, 5 - l.tokens, ARRAY['north', 'south', 'north'], l.frame_ids || 'other'::text, l.frame_digests || NULL::text,
		        ARRAY[-l.frame_tokens[1], -l.frame_tokens[2], 5] FROM ` + report + ` AND l.provider_id = 'north'`,
		`INSERT INTO ledger.usage_lines (seq, tenant, line, request_id, turn_id, customer_id, provider_id, as_of, frames_served, frames_rejected, tokens)
		 SELECT $1::bigint, ` + taken + `, 0, -1, 0 FROM ` + report + ` AND l.provider_id = 'idle'`,
	} {
		if _, err := conn.Exec(tb.Context(), statement, o.Seq, n); err != nil {
			tb.Fatal(err)
		}
	}
}

// Lines of another kind of entry, with negative counts and tokens, are shipped like a report's, and sums subtract them.
func TestCorrectionsAreShipped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 10)
	r.correct(t, 4)
	r.correct(t, 0) // whose frames cost nothing
	r.drain(t, r.shipper("a", 3))
	if n := r.equal(t); n != 24 {
		t.Fatalf("%d lines", n)
	}
	q := metering.Question{
		Tenant: ledgertest.Tenant, From: time.Now().Add(-1000 * time.Hour), To: time.Now().Add(time.Hour), Below: 1 << 62, By: metering.ByFrame, Zone: "UTC", Limit: 100,
	}
	want, _, err := r.Store.UsageTotal(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := r.client.UsageTotal(t.Context(), q); err != nil || got.Cmp(want) != 0 || got.String() != "107" { // 0+…+9 and 10 times 7, less 18, and 10 in their place
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
	groups, err := r.client.Usage(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, g := range groups {
		sums[g.Frame.ID.ProviderID+" "+g.Frame.ID.FrameID] = g.FramesServed.String() + " of " + g.Tokens.String()
	}
	for frame, sum := range map[string]string{"north page/4": "0 of 0", "south page/4": "0 of 0", "north page/0": "0 of 0", "north page/5": "1 of 5", "north other": "2 of 10"} {
		if sums[frame] != sum {
			t.Errorf("%s: %s, want %s", frame, sums[frame], sum)
		}
	}
}
