package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// Books is what is billed and what became of it: read from the store, and recorded by the append path like every other entry.
// Work in progress is in schema work and follows the log (see feed); when it is lost, the intents without an outcome are the
// truth. It is safe for concurrent use, by several processes.
type Books struct {
	*Store
	appender *Appender
	seen     atomic.Int64 // where the log ended when this process looked; never less than before
}

// NewBooks reads from the store and records through the appender.
func NewBooks(s *Store, a *Appender) *Books { return &Books{Store: s, appender: a} }

// BillingTerms is that of the store, and an error that wraps kinds.ErrReadOnly where the log is not signed on, or has become shorter: then
// the database was restored, its planned intents may long be sent, and nothing that is sent now could be recorded.
func (b *Books) BillingTerms(ctx context.Context, tenant string) (*billing.Terms, error) {
	if err := b.appender.Refusal(); err != nil {
		return nil, err
	}
	seen := b.seen.Load() // before the head is read, which can only grow
	head, err := b.Head(ctx)
	if err != nil {
		return nil, err
	}
	if head.Next() < seen {
		return nil, fmt.Errorf("%w: it ends at %d, and went on to %d", ErrOlder, head.Next(), seen)
	}
	b.seen.CompareAndSwap(seen, head.Next())
	return b.Store.BillingTerms(ctx, tenant)
}

// BillingConfig is the tenant's billing configuration in force, nil when it never set one.
func (s *Store) BillingConfig(ctx context.Context, tenant string) (*kinds.BillingConfig, error) {
	list, err := s.billingConfigs(ctx, `ORDER BY e.seq DESC LIMIT 1`, tenant)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// BillingConfigs are all revisions of a tenant's billing configuration, the oldest first.
func (s *Store) BillingConfigs(ctx context.Context, tenant string) ([]*kinds.BillingConfig, error) {
	return s.billingConfigs(ctx, `ORDER BY e.seq`, tenant)
}

// BilledTo lists the processor's ids that a customer is or was mapped to, each once. One revision is held in memory at a time: there may be
// thousands of them.
func (s *Store) BilledTo(ctx context.Context, tenant, customerID string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.entries e JOIN ledger.contents c USING (seq) WHERE e.tenant = $1 AND e.kind = $2 ORDER BY e.seq`, tenant, kinds.BillingConfigKind.Name)
	if err != nil {
		return nil, unavailable(err)
	}
	defer rows.Close()
	list := []string{}
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, unavailable(err)
		}
		c, err := kinds.ReadBillingConfig(e)
		if err != nil {
			return nil, err
		}
		if m, mapped := c.Config.Mapped(customerID); mapped && !slices.Contains(list, m.Customer) {
			list = append(list, m.Customer)
		}
	}
	return list, unavailable(rows.Err())
}

// billingConfigs reads revisions; which is the end of a statement of this file, never a caller's text.
func (s *Store) billingConfigs(ctx context.Context, which, tenant string) ([]*kinds.BillingConfig, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.entries e JOIN ledger.contents c USING (seq)
		WHERE e.tenant = $1 AND e.kind = $2 `+which, tenant, kinds.BillingConfigKind.Name)
	if err != nil {
		return nil, unavailable(err)
	}
	entries, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, unavailable(err)
	}
	list := make([]*kinds.BillingConfig, len(entries))
	for i, e := range entries {
		if list[i], err = kinds.ReadBillingConfig(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// BillingTenants lists the tenants that have a billing configuration.
func (s *Store) BillingTenants(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT t.id FROM work.tenants t
		WHERE EXISTS (SELECT 1 FROM ledger.entries e WHERE e.tenant = t.id AND e.kind = $1) ORDER BY 1`, kinds.BillingConfigKind.Name)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return list, unavailable(err)
}

// BillingTerms reads the configuration in force as the biller takes it; nil when there is none.
func (s *Store) BillingTerms(ctx context.Context, tenant string) (*billing.Terms, error) {
	c, err := s.BillingConfig(ctx, tenant)
	if err != nil || c == nil {
		return nil, err
	}
	head, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	return &billing.Terms{Tenant: tenant, Origin: head.Origin, Seq: c.Seq, Revision: c.Revision, Config: c.Config, Restored: c.Seq < head.Base, Base: head.Base}, nil
}

// Corrected reads what a correction names: a usage report or a correction, by seq, or a report by its request id.
// kinds.ErrNotFound; what kinds.ReadCorrected refuses.
func (s *Store) Corrected(ctx context.Context, tenant string, a kinds.CorrectionArtifact) (*kinds.Corrected, error) {
	var hash [16]byte
	seq := int64(-1)
	if a.Seq != nil {
		seq = *a.Seq
	} else {
		hash = keyHash(tenant, kinds.UsageReport.Name, *a.RequestID)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.entries e JOIN ledger.contents c USING (seq)
		WHERE e.seq = CASE WHEN $2 >= 0 THEN $2 ELSE (SELECT k.seq FROM ledger.keys k WHERE k.key_hash = $3) END AND e.tenant = $1`, tenant, seq, hash)
	if err != nil {
		return nil, unavailable(err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEntry)
	if err != nil {
		return nil, unavailable(err)
	}
	found := []ledger.Entry{e}
	if err := erasedBy(ctx, s.pool, found); err != nil {
		return nil, err
	}
	return kinds.ReadCorrected(found[0])
}
