package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// biller is who records what the server itself does about billing.
func biller(tenant string) kinds.Poster {
	return kinds.Poster{Tenant: tenant, Role: kinds.Billing, TokenID: "biller"}
}

// RecordIntent appends an intent with its claims. billing.ErrClaimed: another intent claims one of its lines, or replaces the
// same one. Recording the same again is no error.
func (b *Books) RecordIntent(ctx context.Context, tenant string, i billing.Intent) error {
	_, err := b.RecordIntents(ctx, tenant, []billing.Intent{i})
	return err
}

// follow brings the work in progress of intents up to the ledger at once. When it fails, or the process ends before it, the feed
// does it.
func (b *Books) follow(ctx context.Context, tenant string, intents []int64) error {
	if len(intents) == 0 {
		return nil
	}
	return b.inTx(ctx, func(tx pgx.Tx) error {
		if err := waitForFeed(ctx, tx); err != nil {
			return err
		}
		// In turn with the feed, which changes the same rows in another order.
		if _, err := tx.Exec(ctx, `SELECT 1 FROM work.billing_feeds WHERE tenant = $1 FOR UPDATE`, tenant); err != nil {
			return err
		}
		if err := unwait(ctx, tx, intents); err != nil {
			return err
		}
		return followIntents(ctx, tx, tenant, intents, 0)
	})
}

// RecordOutcomes appends outcomes, with a replacement where one replaces, each pair together or not at all. An outcome that another process was
// faster with, or that does not follow from the intent's state any more, is left out: the next look at the intent finds what is. So is a
// replacement that takes back more than its period holds; it can be recorded later.
func (b *Books) RecordOutcomes(ctx context.Context, tenant string, list []billing.Closing) error {
	current, err := b.statesOf(ctx, tenant, list)
	if err != nil {
		return err
	}
	var plain []*kinds.Accepted
	var concerned []int64
	for _, c := range list {
		if now, known := current[c.Outcome.Intent]; !known || !billing.CanFollow(now, c.Outcome.State) {
			continue
		}
		concerned = append(concerned, c.Outcome.Intent)
		outcome, err := kinds.NewBillingOutcome(c.Outcome)
		if err != nil {
			return err
		}
		if c.Replacement == nil {
			plain = append(plain, outcome)
			continue
		}
		seqs, err := b.replace(ctx, tenant, outcome, c)
		if err != nil {
			return err
		}
		concerned = append(concerned, seqs...)
	}
	for _, o := range b.appender.Submit(ctx, biller(tenant), plain)() {
		if err := overtaken(o.Err); err != nil {
			return err
		}
	}
	return b.follow(ctx, tenant, concerned)
}

// fits says whether the replacement's period holds what it takes back.
func (b *Books) fits(ctx context.Context, tenant string, c billing.Closing) (bool, error) {
	by := *c.Replacement
	if by.Event.Value >= 0 {
		return true, nil
	}
	old, err := b.Intent(ctx, tenant, c.Outcome.Intent)
	if err != nil {
		return false, err
	}
	held, err := b.HeldIn(ctx, billing.Lane{Tenant: tenant, MeterID: by.MeterID, Customer: by.Event.Customer}, []billing.Period{by.Period})
	if err != nil {
		return false, err
	}
	if old.State == billing.Parked || old.Intent.Event.Customer != by.Event.Customer || old.Intent.MeterID != by.MeterID {
		old.Intent.Period = billing.Period{} // held does not count it
	}
	return billing.Fits(by, old.Intent, held[0].Tokens), nil
}

// replace appends the outcome and the intent that stands for the other, both or none, and returns the latter's seq: none where it
// does not fit, or somebody was faster.
func (b *Books) replace(ctx context.Context, tenant string, outcome *kinds.Accepted, c billing.Closing) ([]int64, error) {
	fits, err := b.fits(ctx, tenant, c)
	if err != nil || !fits {
		return nil, err
	}
	intent, err := kinds.NewBillingIntent(*c.Replacement)
	if err != nil {
		return nil, err
	}
	done := b.appender.AppendAll(ctx, biller(tenant), []*kinds.Accepted{outcome, intent})
	for _, o := range done {
		if o.Err != nil && !errors.Is(o.Err, kinds.ErrNotRecorded) {
			return nil, overtaken(o.Err)
		}
	}
	return []int64{done[1].Recorded.Seq}, nil
}

// overtaken drops the errors that say that another process has recorded an outcome of the same number, or a replacement.
func overtaken(err error) error {
	var held *kinds.ConflictError
	if errors.As(err, &held) || errors.Is(err, billing.ErrClaimed) {
		return nil
	}
	return err
}

// statesOf reads the states of the intents that outcomes are about.
func (b *Books) statesOf(ctx context.Context, tenant string, list []billing.Closing) (map[int64]billing.State, error) {
	seqs := make([]int64, len(list))
	for i, c := range list {
		seqs[i] = c.Outcome.Intent
	}
	rows, err := b.pool.Query(ctx, `
		SELECT i.seq, coalesce(o.state, CASE WHEN i.value = 0 THEN 'settled' ELSE 'planned' END)
		FROM `+wantedIntents+latestOutcome, tenant, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	states := map[int64]billing.State{}
	var seq int64
	var state billing.State
	_, err = pgx.ForEachRow(rows, []any{&seq, &state}, func() error { states[seq] = state; return nil })
	return states, unavailable(err)
}
