package relay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
)

// correct records that the n-th report ought to have named one frame of five tokens. It does nothing to one that is erased, nor a
// second time.
func (r *rig) correct(tb testing.TB, n int) {
	tb.Helper()
	var reported struct {
		AsOf string `json:"as_of"`
	}
	if err := json.Unmarshal(r.sent[n].Content.Artifact, &reported); err != nil {
		tb.Fatal(err)
	}
	request := fmt.Sprintf("req-%d", n)
	corrected, err := r.Store.Corrected(tb.Context(), ledgertest.Tenant, kinds.CorrectionArtifact{RequestID: &request})
	if errors.As(err, new(*kinds.ErasedError)) {
		return
	}
	if err != nil {
		tb.Fatal(err)
	}
	artifact := fmt.Appendf(nil, `{"request_id":%q,"reason":"estimated","replacement":{"budget_requested":2000,"budget_consumed":5,"as_of":%q,"providers":[`+
		`{"provider_id":"north","frames_served":1,"frames_rejected":0,"token_cost":5,"served_frames":[{"frame":{"provider_id":"north","frame_id":"other"},"token_cost":5}]}]}}`,
		request, reported.AsOf)
	a, err := kinds.Correction.Accept(kinds.Submission{Artifact: artifact}, kinds.Env{Now: time.Now(), Corrected: corrected})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := r.Appender.Append(tb.Context(), ledgertest.BillingRole, a); err != nil {
		tb.Fatal(err)
	}
	r.corrected[n] = true
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
