// Package stripefake plays the part of Stripe that billing speaks to: meters, meter events, summaries, customers with their
// subscriptions, events and webhooks. It keeps what Stripe promises and no more, and fails on demand.
//
// What it promises, each from Stripe's documentation of billing meters:
//
//   - an identifier is unique for 24 hours and an error when it comes again; then it is forgotten, and counts again
//   - an answer is kept under its Idempotency-Key for 24 hours and given again; other parameters under the key are an error
//   - one call at a time per customer and meter, else 429
//   - a timestamp lies at most 35 days back and 5 minutes ahead; a value is a whole number of at most 15 digits
//   - summaries are of whole UTC minutes, half-open, float64, and may lag behind; of a meter with an event_time_window only
//     the last event of each hour or day counts
//   - an event that was taken with 200 may not count after all; a thin event to the webhook says so, with samples
//
// Beside the API, for whoever tests or tries billing:
//
//	PUT  /_clock      {"now":"2027-01-31T23:59:00Z"} or {"advance":"25h"}; GET reads it
//	PUT  /_faults     [{"call":"create","answer":"drop","recorded":true,"times":1}, …], in the form of Fault; GET reads what is left
//	PUT  /_meters     a Meter
//	PUT  /_customers  a Customer
//	GET  /_events     what was taken: ?customer= and ?meter= narrow it
//	GET  /_totals     what counts, per meter and customer
//	GET  /_invoice    ?meter=&customer=&start_time=&end_time=&divide_by=1000000: the units of a price that rounds up
//	POST /_deliver    ?event=: sends an event to the webhook (again)
package stripefake
