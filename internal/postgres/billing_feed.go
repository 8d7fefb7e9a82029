package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
)

// feedEntries bounds one step of the feed, which is one transaction.
const feedEntries = 2_000

// fed are the kinds that the feed follows.
var fed = []string{kinds.UsageReport.Name, kinds.Correction.Name, kinds.BillingIntent.Name, kinds.BillingOutcome.Name, kinds.Erasure.Name}

// feed brings work.billing_waiting and work.billing_open up to the end of the log, step by step. Every step can be done again, and
// both can be emptied: what is claimed and what is settled follows from the ledger. When the row of the feed itself is lost, intents from before are
// taken to have been attempted when they were recorded, since nobody knows that they were not.
func (s *Store) feed(ctx context.Context, tenant string, c *kinds.BillingConfig) error {
	for more := true; more; {
		err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
			more, err = feedStep(ctx, tx, tenant, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// feeder is one step: a stretch of the log, by kinds.
type feeder struct {
	tx     pgx.Tx
	tenant string
	config *kinds.BillingConfig
	since  int64
	// What counts: by the configuration, or by the row where another process knows a newer one.
	start     time.Time
	providers []string
	entries   map[string][]int64 // kind → seqs
}

func feedStep(ctx context.Context, tx pgx.Tx, tenant string, c *kinds.BillingConfig) (more bool, err error) {
	f := feeder{tx: tx, tenant: tenant, config: c, entries: map[string][]int64{}}
	next, err := f.lock(ctx)
	if err != nil {
		return false, err
	}
	end, more, err := f.read(ctx, next)
	if err != nil {
		return false, err
	}
	for _, step := range []func(context.Context) error{f.usage, f.intents, f.erasures} {
		if err := step(ctx); err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE work.billing_feeds SET next_seq = $2 WHERE tenant = $1`, tenant, end)
	return more, err
}

// lock makes the feed's row if need be and locks it, so that one process feeds a tenant at a time. What another revision counts in
// addition is found by going through the log again; what it no longer counts is dropped.
func (f *feeder) lock(ctx context.Context) (next int64, err error) {
	c := f.config.Config
	if err := waitForFeed(ctx, f.tx); err != nil {
		return 0, err
	}
	if _, err := f.tx.Exec(ctx, `
		INSERT INTO work.billing_feeds (tenant, since, revision, start, providers)
		SELECT $1, h.base + h.size, $2, $3, $4 FROM ledger.head h ORDER BY h.incarnation DESC LIMIT 1
		ON CONFLICT (tenant) DO NOTHING`, f.tenant, f.config.Revision, c.Start, c.Providers); err != nil {
		return 0, err
	}
	var revision int64
	var wider bool
	err = f.tx.QueryRow(ctx, `
		SELECT since, next_seq, revision, start, providers,
		       coalesce($2::text[] IS NULL AND providers IS NOT NULL OR NOT ($2::text[] <@ coalesce(providers, $2)), false) OR $3 < start
		FROM work.billing_feeds WHERE tenant = $1 FOR UPDATE`, f.tenant, c.Providers, c.Start).Scan(&f.since, &next, &revision, &f.start, &f.providers, &wider)
	if err != nil || revision >= f.config.Revision {
		return next, err
	}
	f.start, f.providers = c.Start, c.Providers
	if wider {
		next = 0
	}
	if _, err := f.tx.Exec(ctx, `UPDATE work.billing_feeds SET revision = $2, start = $3, providers = $4 WHERE tenant = $1`,
		f.tenant, f.config.Revision, c.Start, c.Providers); err != nil {
		return 0, err
	}
	_, err = f.tx.Exec(ctx, `
		DELETE FROM work.billing_waiting w WHERE w.tenant = $1
		AND (w.as_of < $2 OR NOT ($3::text[] IS NULL OR w.provider_id = ANY ($3))
		     OR (NOT w.customer_id = ANY ($4) AND EXISTS (SELECT 1 FROM ledger.erased x WHERE x.seq = w.seq)))`,
		f.tenant, c.Start, c.Providers, mappedIDs(f.config))
	return next, err
}

// waitForFeed lets a transaction wait longer for its turn than for other locks: a step of another process may take a while.
func waitForFeed(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '20s'`)
	return err
}

func mappedIDs(c *kinds.BillingConfig) []string {
	ids := make([]string, len(c.Config.Customers))
	for i, m := range c.Config.Customers {
		ids[i] = m.CustomerID
	}
	return ids
}

const fedEntriesSQL = `
	SELECT found.kind, found.seq FROM unnest($2::text[]) AS k(kind) CROSS JOIN LATERAL (
		SELECT e.kind, e.seq FROM ledger.entries e WHERE e.tenant = $1 AND e.kind = k.kind AND e.seq >= $3 AND e.seq < $4 ORDER BY e.seq LIMIT $5) found
	ORDER BY found.seq LIMIT $5`

// read finds the step's entries, each kind by a range of one index.
func (f *feeder) read(ctx context.Context, next int64) (end int64, more bool, err error) {
	if err := f.tx.QueryRow(ctx, `SELECT base + size FROM ledger.head ORDER BY incarnation DESC LIMIT 1`).Scan(&end); err != nil {
		return 0, false, err
	}
	rows, err := f.tx.Query(ctx, fedEntriesSQL, f.tenant, fed, next, end, feedEntries)
	if err != nil {
		return 0, false, err
	}
	var kind string
	var seq int64
	n := 0
	if _, err = pgx.ForEachRow(rows, []any{&kind, &seq}, func() error {
		f.entries[kind] = append(f.entries[kind], seq)
		n++
		return nil
	}); err != nil {
		return 0, false, err
	}
	if n == feedEntries {
		return seq + 1, true, nil
	}
	return end, false, nil
}

const fedUsageSQL = `
	INSERT INTO work.billing_waiting (tenant, seq, provider_id, customer_id, as_of, tokens)
	SELECT $1, p.seq, p.provider_id, p.customer_id, p.as_of, p.tokens
	FROM unnest($2::bigint[]) AS want(seq) CROSS JOIN LATERAL (SELECT * FROM ledger.usage_lines WHERE seq = want.seq OFFSET 0) p
	WHERE p.tokens <> 0 AND p.customer_id IS NOT NULL AND p.as_of >= $3 AND ($4::text[] IS NULL OR p.provider_id = ANY ($4))
	  AND (SELECT c.seq FROM ledger.billing_claims c WHERE c.tenant = $1 AND c.usage_seq = p.seq AND c.provider_id = p.provider_id) IS NULL
	ON CONFLICT DO NOTHING`

// usage adds the lines that count and that nothing claims. A line without tokens has nothing to bill. The claim is asked for line by
// line: as a join, Postgres may go through all claims for each step.
func (f *feeder) usage(ctx context.Context) error {
	seqs := append(f.entries[kinds.UsageReport.Name], f.entries[kinds.Correction.Name]...)
	if len(seqs) == 0 {
		return nil
	}
	_, err := f.tx.Exec(ctx, fedUsageSQL, f.tenant, seqs, f.start, f.providers)
	return err
}

// intents takes what they claim from what waits, and follows what became of them.
func (f *feeder) intents(ctx context.Context) error {
	seqs := f.entries[kinds.BillingIntent.Name]
	if err := unwait(ctx, f.tx, seqs); err != nil {
		return err
	}
	concerned := seqs
	if outcomes := f.entries[kinds.BillingOutcome.Name]; len(outcomes) > 0 {
		rows, err := f.tx.Query(ctx, `SELECT intent_seq FROM ledger.billing_outcomes WHERE seq = ANY ($1) AND tenant = $2`, outcomes, f.tenant)
		if err != nil {
			return err
		}
		of, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		concerned = append(concerned, of...)
	}
	return followIntents(ctx, f.tx, f.tenant, concerned, f.since)
}

// unwait removes what intents claim.
func unwait(ctx context.Context, tx pgx.Tx, intents []int64) error {
	if len(intents) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		DELETE FROM work.billing_waiting w USING ledger.billing_claims c
		WHERE c.seq = ANY ($1) AND w.tenant = c.tenant AND w.seq = c.usage_seq AND w.provider_id = c.provider_id`, intents)
	return err
}

// latestOutcome joins the state of an intent, aliased i, as o; its columns are null for one without an outcome.
const latestOutcome = ` LEFT JOIN LATERAL (SELECT x.state, x.number, x.cause, x.seq FROM ledger.billing_outcomes x
	WHERE x.tenant = i.tenant AND x.intent_seq = i.seq ORDER BY x.number DESC LIMIT 1) o ON true `

// wantedIntents are the intents of tenant $1 with the seqs $2, as i. LATERAL with OFFSET 0 keeps this a look-up by seq for each: in a
// table that grew since its statistics were made, a join reads all of the tenant's.
const wantedIntents = ` (SELECT DISTINCT unnest($2::bigint[]) AS seq) AS want CROSS JOIN LATERAL (SELECT * FROM ledger.billing_intents WHERE seq = want.seq AND tenant = $1 OFFSET 0) i `

// followIntents makes the rows of work.billing_open what the ledger says of intents. Those that were recorded before since, of which
// nothing is known, count as attempted when they were recorded.
func followIntents(ctx context.Context, tx pgx.Tx, tenant string, intents []int64, since int64) error {
	if len(intents) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `
		DELETE FROM work.billing_open w WHERE w.tenant = $1 AND w.intent = ANY (ARRAY(
			SELECT i.seq FROM `+wantedIntents+latestOutcome+` WHERE o.state IN ('confirmed', 'replaced')))`, tenant, intents); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO work.billing_open (tenant, intent, stripe_customer, meter_id, state, attempts, first_try, last_try)
		SELECT $1, i.seq, i.stripe_customer, i.meter_id, coalesce(o.state, 'planned'),
		       (i.seq < $3)::int, CASE WHEN i.seq < $3 THEN e.recorded_at END, CASE WHEN i.seq < $3 THEN e.recorded_at END
		FROM `+wantedIntents+latestOutcome+` CROSS JOIN LATERAL (SELECT recorded_at FROM ledger.entries WHERE seq = i.seq OFFSET 0) e
		WHERE i.value <> 0 AND coalesce(o.state, 'planned') NOT IN ('confirmed', 'replaced')
		ON CONFLICT (tenant, intent) DO UPDATE SET state = excluded.state`, tenant, intents, since)
	return err
}

// erasures drops what was erased of customers that nobody is billed for. What is mapped stays until it is billed.
func (f *feeder) erasures(ctx context.Context) error {
	seqs := f.entries[kinds.Erasure.Name]
	if len(seqs) == 0 {
		return nil
	}
	_, err := f.tx.Exec(ctx, `
		DELETE FROM work.billing_waiting w USING ledger.erased x
		WHERE x.erasure_seq = ANY ($2) AND w.tenant = $1 AND w.seq = x.seq AND NOT w.customer_id = ANY ($3)`, f.tenant, seqs, mappedIDs(f.config))
	return err
}
