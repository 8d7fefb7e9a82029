// Package billing decides what a payment processor is told about usage. It is pure: no I/O, no clock, no randomness, no
// globals; time and configuration are parameters, so that every decision can be made again with the same answer.
//
// # Windows and periods
//
// Usage is summed per customer over windows: hours or days of UTC, half-open, cut where a billing period begins
// ([Config.WindowAt]). A period runs from one occurrence of the customer's billing anchor to the next, a month later; an
// anchor on a day that a month does not have falls on its last day ([PeriodAt]). Boundaries are whole minutes: an anchor's
// seconds are dropped, and usage of that minute counts in the period that begins in it.
//
// # Intents
//
// [Make] turns unclaimed usage of one customer into intents: what is to be told, frozen. An [Intent] claims the usage lines
// that it is made of, each line once in all intents; the store holds that by a constraint. So money is exactly-once by
// construction, however often and wherever it is planned: the tokens of all intents and of all lines that are not claimed
// add up to the tokens of all lines.
//
//   - A window is planned once it is over by the settle time. What comes later is the next delta of the same window, an
//     intent of its own. Nothing is rewritten.
//   - The event's timestamp is the window's end − 1 s, so that it lies in the window's own period.
//   - Once the invoice of that period is final (period's end + invoice grace, less DeliveryMargin), the event is carried: it
//     gets a timestamp of its own in the open period, and the intent still names the window.
//   - Usage older than MaxAge is not planned at all, and usage before the configured start never is.
//   - A window that sums up to less than nothing takes back at most what the period of its timestamp is known to hold; the
//     lines that do not fit wait.
//   - Lines that add up to zero become an intent that is recorded and not sent, so that they do not wait for ever.
//   - An intent has at most MaxClaims lines and MaxClaimBytes of them, and a value of at most 15 digits. More become several.
//
// # Identifiers
//
// An intent's identifier is "led1_" and the hexadecimal SHA-256 of everything in it ([Intent.Identify]). Whoever plans the same
// gets the same; another value, or another line, is another identifier. It begins with the log's origin, so that two ledgers
// that share an account never take each other's events for their own.
//
// # From an intent to certainty
//
// [Decide] says what to do next about an intent, [Judge] what an answer of the processor means, [Resolve] what a
// summary means for intents whose answer was lost, and [Reconcile] how a period stands. An outcome is recorded for each change of an
// intent's [State]; an intent that will never count is replaced by another, which claims nothing itself: the claims stay with the first.
package billing
