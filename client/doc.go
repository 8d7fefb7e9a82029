// Package client is how a Go host talks to ledgerd: it records usage, consents and receipts, and asks what was recorded.
//
//	ledger, err := client.New("https://ledger.example.org", token)
//	…
//	recorded, err := ledger.PostUsageReport(ctx, client.UsageReport{RequestID: id, TurnID: turn, CustomerID: customer, Report: report})
//
// # Once, and only once
//
// A call that returns a Recorded is committed, and a signed checkpoint covers it. Network errors and the statuses 429, 502,
// 503 and 504 are tried again, with the same key and the same bytes, so that the entry is recorded at most once however
// often it is sent; [Recorded].Replayed says that an earlier attempt, or an earlier call, had succeeded. Any other refusal
// is a [*Problem] at once.
//
// When the attempts or the context end without an answer, a write fails with a [*OutcomeUnknownError]. It may have been
// recorded. The same call may be repeated, also by another process: keep what it takes.
//
// # What is never done
//
// The token is sent to the base URL only: redirects are not followed. It appears in no error. Answers are bounded in size.
package client
