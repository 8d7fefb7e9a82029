package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ledgerd/api"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// Every finding that takes a ledger is found, with the entries that show it, and nothing is found without cause.
func TestFindings(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	ask := func(more string) api.FindingListBody {
		t.Helper()
		var body api.FindingListBody
		got := x.s.as(t, kinds.Auditor, "GET", "/v1/findings?from=2020-01-01T00:00:00Z&to="+x.at(1)+more, "")
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		got.into(t, &body)
		return body
	}
	for _, provider := range []string{"p", "late"} {
		x.declare(provider, "1", "2020-01-01T00:00:00Z", local)
	}
	x.serve("p", "r1", x.at(0), 1)
	x.post(kinds.Host, "/v1/frame-verifications", verification(x.at(0.0001), "valid", ""))
	if body := ask(""); len(body.Findings) != 0 || len(body.Counts) != len(audit.FindingKinds) {
		t.Fatalf("without cause: %+v", body)
	}

	stale := x.post(kinds.Host, "/v1/frame-verifications", verification(x.at(0.0002), "stale", `,"replacement_digest":"sha256:0"`))
	reused := x.serve("p", "r2", x.at(0.0003), 1)
	drift := x.post(kinds.Host, "/v1/usage-reports", usageOf("r3", `{"budget_requested":9,"budget_consumed":7,"as_of":"`+x.at(0.0004)+`","providers":[{"provider_id":"p",`+
		`"frames_served":2,"frames_rejected":0,"token_cost":7,"served_frames":[{"frame":{"provider_id":"p","frame_id":"f0","content_digest":"sha256:0"},"token_cost":3},`+
		`{"frame":{"provider_id":"p","frame_id":"f0","content_digest":"sha256:new"},"token_cost":4}]}]}`))
	stamp := x.post(kinds.Host, "/v1/frame-verifications", verification(x.at(0.0005), "valid", ""))
	late := x.serve("late", "r4", x.at(-2), 0)
	x.declare("open", "1", x.at(-9), model)
	open := x.serve("open", "r5", x.at(0), 1)
	bundle := ledgertest.Sample(t, &kinds.ReceiptBundle, 1)
	missing, err := x.s.Appender.Append(t.Context(), ledgertest.Host, bundle)
	if err != nil {
		t.Fatal(err)
	}

	for kind, seqs := range map[audit.FindingKind][]int64{
		audit.FindingD1Conflict: {stale}, audit.FindingStaleReuse: {stale, reused, drift}, audit.FindingCostDrift: {reused, drift},
		audit.FindingRubberStamp: {drift, stamp}, audit.FindingAsOfFar: {late}, audit.FindingUnconsented: {open}, audit.FindingUsageMissing: {missing.Seq},
	} {
		body := ask("&kind=" + string(kind))
		if len(body.Findings) != 1 || body.Counts[kind] != 1 || len(body.Counts) != 1 {
			t.Errorf("%s: %+v", kind, body)
			continue
		}
		if got := body.Findings[0].Seqs; !slices.Equal(got, seqs) {
			t.Errorf("%s: entries %v, want %v", kind, got, seqs)
		}
	}
	if body := ask("&provider_id=open"); len(body.Findings) != 1 || body.Findings[0].Verdict != audit.Unconsented || len(body.Counts) != len(audit.FindingKinds)-1 {
		t.Errorf("of one provider: %+v", body.Findings)
	}
	if body := ask(""); len(body.Findings) != len(audit.FindingKinds) {
		t.Errorf("all: %+v", body.Findings)
	}
	metrics := x.s.as(t, kinds.Operator, "GET", "/metrics", "")
	if !strings.Contains(string(metrics.body), `ledgerd_findings{kind="rubber-stamp",tenant="acme"} 1`) {
		t.Error("the metric does not show the newest answer")
	}
	if got := x.s.as(t, kinds.Auditor, "GET", "/v1/findings?from="+x.at(-1)+"&to="+x.at(1)+"&kind=evil", ""); got.status != http.StatusBadRequest || strings.Contains(string(got.body), "evil") {
		t.Errorf("an unknown kind: %d %s", got.status, got.body)
	}
}

// What is found of a period does not depend on where it is cut: what was said and served before it counts.
func TestFindingsOfACutPeriod(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	frame := func(request, at, digest string, cost int) int64 {
		return x.post(kinds.Host, "/v1/usage-reports", usageOf(request, fmt.Sprintf(`{"budget_requested":9,"budget_consumed":%d,"as_of":%q,"providers":[{"provider_id":"p",`+
			`"frames_served":1,"frames_rejected":0,"token_cost":%d,"served_frames":[{"frame":{"provider_id":"p","frame_id":"f0","content_digest":%q},"token_cost":%d}]}]}`, cost, at, cost, digest, cost)))
	}
	old := frame("r1", x.at(-9), "sha256:0", 3)
	other := frame("r2", x.at(-8), "sha256:new", 3)
	stale := x.post(kinds.Host, "/v1/frame-verifications", verification(x.at(-7), "stale", ""))
	reused := frame("r3", x.at(-1), "sha256:0", 4)
	if got := x.s.as(t, kinds.Auditor, "GET", "/v1/findings?kind=usage-missing&provider_id=p&from="+x.at(-2)+"&to="+x.at(1), ""); got.status != http.StatusBadRequest {
		t.Errorf("usage-missing of a provider: %d %s", got.status, got.body)
	}
	for kind, seqs := range map[audit.FindingKind][]int64{audit.FindingStaleReuse: {stale, reused}, audit.FindingCostDrift: {old, reused}} {
		var body api.FindingListBody
		x.s.as(t, kinds.Auditor, "GET", "/v1/findings?kind="+string(kind)+"&from="+x.at(-2)+"&to="+x.at(1), "").into(t, &body)
		if len(body.Findings) != 1 || !slices.Equal(body.Findings[0].Seqs, seqs) {
			t.Errorf("%s: %+v, want %v", kind, body.Findings, seqs)
		}
	}
	stamp := x.post(kinds.Host, "/v1/frame-verifications", verification(x.at(-7.5), "valid", ""))
	var body api.FindingListBody
	x.s.as(t, kinds.Auditor, "GET", "/v1/findings?kind=rubber-stamp&from="+x.at(-7.6)+"&to="+x.at(-7.4), "").into(t, &body)
	if len(body.Findings) != 1 || !slices.Equal(body.Findings[0].Seqs, []int64{other, stamp}) {
		t.Errorf("rubber-stamp: %+v", body.Findings)
	}
}
