package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/kinds"
)

// postUsage sends one report of a provider, and wants an answer: 201 for the first time, 200 for the same again.
func (i *instance) postUsage(t *testing.T, n int, asOf time.Time, want int) {
	t.Helper()
	body := fmt.Sprintf(`{"request_id":"req-%d","turn_id":"t","customer_id":"c-%d","report":{"budget_requested":100,"budget_consumed":%d,"as_of":%q,`+
		`"providers":[{"provider_id":"north","frames_served":1,"frames_rejected":0,"token_cost":%d,"served_frames":[`+
		`{"frame":{"provider_id":"north","frame_id":"page/%d","content_digest":"sha256:%064x"},"token_cost":%d}]}]}}`,
		n, n%2, n, asOf.UTC().Format(time.RFC3339), n, n%3, n%3, n)
	status, raw, err := i.do(t.Context(), http.MethodPost, "/v1/usage-reports", kinds.Host, body)
	if err != nil || status != want {
		t.Fatalf("%d %s %v", status, raw, err)
	}
}

// shipped waits until nothing is left to ship.
func (i *instance) shipped(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var out bytes.Buffer
		if run(ctx, append([]string{"clickhouse", "reconcile"}, i.databases()...), nil, &out, &out) == 0 && i.metric(t, "ledgerd_clickhouse_lag_entries") == "0" {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not shipped in time: %s", out.String())
		}
	}
}

func (i *instance) databases() []string {
	return []string{"--database-url", i.PostgresURL, "--clickhouse-url", i.ClickHouseURL}
}

// metric is a metric's value as the private listener shows it.
func (i *instance) metric(t *testing.T, name string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, i.PrivateURL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return ""
}

// The real binary ships to its embedded engine, across a crash of the whole process, and its tools work beside it.
func TestDevShipsToItsEngine(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	dev := startDev(t, dir)
	if dev.ClickHouseURL == "" {
		t.Fatalf("no ClickHouse: %s", dev.output)
	}
	asOf := time.Now()
	for n := range 20 {
		dev.postUsage(t, n, asOf, http.StatusCreated)
		dev.postUsage(t, n, asOf, http.StatusOK)
	}
	dev.end(t, syscall.SIGKILL)
	dev = startDev(t, dir)
	for n := range 40 {
		want := http.StatusCreated
		if n < 20 {
			want = http.StatusOK
		}
		dev.postUsage(t, n, asOf, want)
	}
	dev.shipped(t)
	chtest.Exec(t, dev.ClickHouseURL, "SELECT throwIf(count() != 40 OR sum(tokens) != 780) FROM usage")
	if status, ready := fetch(t, dev.PrivateURL+"/readyz", ""); status != http.StatusOK || !bytes.Contains(ready, []byte(`"drifted_days":0`)) {
		t.Errorf("the private listener's readyz: %d %s", status, ready)
	}
	for _, command := range [][]string{{"clickhouse", "rebuild"}, {"clickhouse", "reconcile"}, {"clickhouse", "quarantine", "list"}, {"clickhouse", "quarantine", "replay"}} {
		var out bytes.Buffer
		if code := run(t.Context(), append(command, dev.databases()...), nil, &out, &out); code != 0 {
			t.Fatalf("%s: exit %d: %s", strings.Join(command, " "), code, out.String())
		}
	}
	var out, problems bytes.Buffer
	if code := run(t.Context(), []string{"demo", "--data-dir", dir}, nil, &out, &problems); code != 0 {
		t.Fatalf("demo: exit %d: %s%s", code, out.String(), problems.String())
	}
	wants(t, out.String(), `PROVIDER +REPORTS +FRAMES +TOKENS +ENTRIES`, `north-llm +20 +40 +\d+ +\d+ to \d+`, `in all +20 +\d+ +from postgres`,
		`FRAME +OF +REPORTS +TOKENS +ENTRIES`, `from clickhouse +of entries below \d+`)
	dev.end(t, syscall.SIGINT)
	if !dev.cmd.ProcessState.Success() {
		t.Fatalf("%v\n%s", dev.cmd.ProcessState, dev.output)
	}
}
