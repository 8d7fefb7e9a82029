package postgres

import (
	"context"

	"ledgerd/internal/kinds"
)

// QuestionSQL is the statements behind the audit questions, for the test of their plans. The usage statement takes the
// arguments of Store.usage, those of consent tenant, providers, size and limit.
var QuestionSQL = struct {
	Usage, UsageBefore, Grants, Revocations, Records, Declarations, VerdictsOf, VerdictsBefore, Erased string
}{usageSQL, usageBeforeSQL, grantsSQL, revocationsSQL, recordsSQL, declarationsSQL, verdictsOfSQL, verdictsBeforeSQL, erasedSQL}

// BillingSQL is the statements behind planning, for the test of their plans, with the arguments of their methods.
var BillingSQL = struct{ DueUsage, FedUsage, HeldIn, FedEntries string }{dueUsageSQL, fedUsageSQL, heldInSQL, fedEntriesSQL}

// Setting is a setting of the store's sessions.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

// Queue queues a dispute without looking for it first, as the later one of two at once does.
func (d *Disputes) Queue(ctx context.Context, who kinds.Poster, r kinds.DisputeRequest) (kinds.DisputeRaised, error) {
	return d.queue(ctx, who, r)
}
