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
