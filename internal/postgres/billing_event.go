package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering"
)

// Outcomes reads what became of an intent, in order.
func (s *Store) Outcomes(ctx context.Context, tenant string, intent int64) ([]kinds.RecordedOutcome, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.billing_outcomes x JOIN ledger.entries e USING (seq) JOIN ledger.contents c USING (seq)
		WHERE x.tenant = $1 AND x.intent_seq = $2 ORDER BY x.number`, tenant, intent)
	if err != nil {
		return nil, unavailable(err)
	}
	entries, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, unavailable(err)
	}
	return outcomesOf(entries)
}

func outcomesOf(entries []ledger.Entry) ([]kinds.RecordedOutcome, error) {
	list := make([]kinds.RecordedOutcome, len(entries))
	for i, e := range entries {
		o, err := kinds.ReadBillingOutcome(e)
		if err != nil {
			return nil, err
		}
		list[i] = kinds.RecordedOutcome{Seq: e.Seq, RecordedAt: e.RecordedAt, Outcome: o}
	}
	return list, nil
}

// ClaimantOf finds the intent whose claims another stands for: itself, unless it replaces one. next is the intent that replaces this
// one, 0 for none.
func (s *Store) ClaimantOf(ctx context.Context, tenant string, intent int64) (claimant, next int64, err error) {
	err = s.pool.QueryRow(ctx, `
		WITH RECURSIVE chain AS (
			SELECT i.seq, i.replaces, 0 AS depth FROM ledger.billing_intents i WHERE i.seq = $2 AND i.tenant = $1
			UNION ALL
			SELECT i.seq, i.replaces, chain.depth + 1 FROM chain JOIN ledger.billing_intents i ON i.seq = chain.replaces AND i.tenant = $1 WHERE chain.depth < $3)
		SELECT (SELECT seq FROM chain ORDER BY depth DESC LIMIT 1), coalesce((SELECT n.seq FROM ledger.billing_intents n WHERE n.tenant = $1 AND n.replaces = $2), 0)`,
		tenant, intent, maxReplacements).Scan(&claimant, &next)
	return claimant, next, unavailable(err)
}

// ClaimedLines reads the usage lines that an intent claims, after a line, in the order of seq and provider, at most limit.
func (s *Store) ClaimedLines(ctx context.Context, tenant string, intent, afterSeq int64, afterProvider string, limit int) ([]metering.Line, error) {
	list, err := readLinesOf(ctx, s.pool, limit, `(
		SELECT u.* FROM (SELECT usage_seq, provider_id FROM ledger.billing_claims WHERE seq = $2 AND tenant = $1 AND (usage_seq, provider_id) > ($3::bigint, $4::text)
		                 ORDER BY 1, 2 LIMIT $5) c
		CROSS JOIN LATERAL (SELECT * FROM ledger.usage_lines WHERE seq = c.usage_seq AND provider_id = c.provider_id AND tenant = $1 OFFSET 0) u)`,
		`true`, tenant, intent, afterSeq, afterProvider, limit)
	return list, unavailable(err)
}
