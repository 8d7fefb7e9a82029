package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"ledgerd/client"
	"ledgerd/frames"
	"ledgerd/metering"
)

// A host records what a request used. The ledger commits it, but its answer is lost on the way: the client asks again with
// the same report, and learns that it had been recorded.
func Example() {
	server := httptest.NewServer(forgetfulLedger())
	defer server.Close()

	ledger, err := client.New(server.URL, "ldg_a-host-token", client.WithBackoff(time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	recorded, err := ledger.PostUsageReport(context.Background(), client.UsageReport{
		RequestID: "request-1", TurnID: "turn-1", CustomerID: "customer-1",
		Report: metering.UsageReport{
			BudgetRequested: 2000, BudgetConsumed: 311, AsOf: "2026-11-30T15:20:48Z",
			Providers: []metering.ProviderUsage{{
				ProviderID: "north-llm", FramesServed: 1, TokenCost: 311,
				ServedFrames: []metering.ServedFrame{{Frame: frames.FrameID{ProviderID: "north-llm", FrameID: "page/a"}, TokenCost: 311}},
			}},
		},
	})
	if err != nil {
		log.Fatal(err) // a *client.Problem says why; a *client.OutcomeUnknownError: send the same report again later
	}
	fmt.Println("entry", recorded.Seq, "key", recorded.Key, "replayed", recorded.Replayed)
	for _, f := range recorded.Findings {
		fmt.Println("finding", f.Code, "at", f.Pointer)
	}
	// Output:
	// entry 0 key request-1 replayed true
	// finding unverifiable-frame at /providers/0/served_frames/0/frame
}

// A biller sums up a month by customer, exactly, and walks from a sum to the reports behind it.
func ExampleClient_Usage() {
	server := httptest.NewServer(billedLedger())
	defer server.Close()

	ledger, err := client.New(server.URL, "ldg_a-billing-token")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	november := client.UsageQuery{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	answer, err := ledger.Usage(ctx, "customer", november)
	if err != nil {
		log.Fatal(err) // a *client.Problem of status 503: ClickHouse is away, ask with Source: "postgres"
	}
	fmt.Println(answer.Totals.Tokens, "tokens, from", answer.Source)
	for _, g := range answer.Groups {
		fmt.Println(g.Key, g.Tokens)
	}
	november.CustomerID = "acme"
	for after := int64(-1); ; {
		page, err := ledger.UsageLines(ctx, november, after, 100)
		if err != nil {
			log.Fatal(err)
		}
		for _, l := range page.Lines {
			fmt.Println("entry", l.Seq, l.ProviderID, l.Tokens)
		}
		if page.Next == nil {
			break
		}
		after = *page.Next
	}
	// Output:
	// 1355 tokens, from postgres
	// acme 311
	// zenith 1044
	// entry 0 north-llm 411
	// entry 7 north-llm -100
}

// billedLedger answers as the API does.
func billedLedger() http.Handler {
	answers := map[string]string{
		"/v1/usage": `{"period":{"from":"2026-11-01T00:00:00Z","to":"2026-12-01T00:00:00Z"},"group_by":"customer","tz":"UTC","source":"postgres",` +
			`"freshness":{"tree_size":9,"covers":9,"lag_seconds":0},"groups":[` +
			`{"key":"acme","reports":2,"frames_served":"1","frames_rejected":"0","tokens":"311","first_seq":0,"last_seq":7},` +
			`{"key":"zenith","reports":1,"frames_served":"3","frames_rejected":"0","tokens":"1044","first_seq":3,"last_seq":3}],` +
			`"totals":{"reports":3,"tokens":"1355","source":"postgres"}}`,
		"/v1/usage/lines": `{"tree_size":9,"next":null,"lines":[` +
			`{"seq":0,"request_id":"r","provider_id":"north-llm","as_of":"2026-11-30T15:20:48Z","frames_served":"1","frames_rejected":"0","tokens":"411","frames":[]},` +
			`{"seq":7,"request_id":"r","provider_id":"north-llm","as_of":"2026-11-30T15:20:48Z","frames_served":"0","frames_rejected":"0","tokens":"-100","frames":[]}]}`,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answers[r.URL.Path])
	})
}

// forgetfulLedger answers as the API does, but loses its first answer after the commit.
func forgetfulLedger() http.Handler {
	committed := false
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil || !committed {
			committed = true
			panic(http.ErrAbortHandler) // drops the connection
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Idempotent-Replayed", "true")
		fmt.Fprint(w, `{"seq":0,"kind":"usage-report","key":"request-1","recorded_at":"2026-11-30T15:20:48.123456Z",`+
			`"leaf_hash":"qrUg1Ll9OTuhHKTqLmkkg3sVYwtuIjMF0ZgqaQ9zY5s=",`+
			`"findings":[{"code":"unverifiable-frame","document":"context-reuse D4","pointer":"/providers/0/served_frames/0/frame"}]}`)
	})
}
