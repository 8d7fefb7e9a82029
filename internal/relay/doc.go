// Package relay holds the loops that tell other systems what the ledger knows: cursors, retries and backoff.
//
// # Shipping usage to ClickHouse
//
// A [Shipper] copies usage lines in batches, each a stretch of the log. The order of steps, and what a crash after each means:
//
//  1. take the lease: nothing has happened; another process takes it once it is over
//  2. commit the batch: the next shipper reads the same stretch and sends it
//  3. destroy the lines that erasures in the stretch concern: they are missing until the batch is sent again, which it is
//  4. send the lines: they are sent again; the projection keeps one row of each
//  5. commit the cursor: done
//
// Nothing is counted by having been sent once. The deduplication token, made of what a block holds, only spares work; that a
// line counts once is the table's own doing, and [Reconcile] proves it.
//
// A line that the projection refuses is found by bisection and put into quarantine with the reason; the others go on. What
// is not a refusal is tried again for good, since only an operator could tell a server that is away from one that is gone.
package relay
