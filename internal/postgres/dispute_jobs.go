package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
)

// jobColumns are what a job is scanned from.
const jobColumns = `tenant, dispute_id, role, token_id, customer_id, from_at, to_at, billing_event, request_id, receipt_id, reason, reverifies, state, done, total, coalesce(problem, ''), raised_at`

func scanJob(row pgx.CollectableRow) (j kinds.DisputeJob, err error) {
	var role string
	q := &j.Question
	err = row.Scan(&j.Who.Tenant, &j.ID, &role, &j.Who.TokenID, &q.CustomerID, &q.From, &q.To, &q.BillingEvent, &q.RequestID, &q.ReceiptID,
		&j.Reason, &j.Reverifies, &j.State, &j.Done, &j.Total, &j.Problem, &j.RaisedAt)
	j.Who.Role = kinds.Role(role)
	return j, err
}

// queueDispute notes a dispute to be worked on, or a recorded one (reverifies) to be decided again.
func (s *Store) queueDispute(ctx context.Context, who kinds.Poster, r kinds.DisputeRequest, reverifies *int64) error {
	q := r.Question
	_, err := s.pool.Exec(ctx, `
		INSERT INTO work.dispute_jobs (tenant, dispute_id, role, token_id, customer_id, from_at, to_at, billing_event, request_id, receipt_id, reason, reverifies)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (tenant, dispute_id) DO UPDATE
		SET role = excluded.role, token_id = excluded.token_id, reverifies = excluded.reverifies, state = 'queued', done = 0, total = 0, attempts = 0, problem = NULL, raised_at = now()
		WHERE dispute_jobs.state IN ('done', 'failed') AND excluded.reverifies IS NOT NULL`,
		who.Tenant, r.ID, string(who.Role), who.TokenID, q.CustomerID, q.From, q.To, q.BillingEvent, q.RequestID, q.ReceiptID, r.Reason, reverifies)
	return unavailable(err)
}

// DisputeJob reads how far a dispute is that was queued. kinds.ErrNotFound when none is.
func (s *Store) DisputeJob(ctx context.Context, tenant, id string) (kinds.DisputeJob, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+jobColumns+` FROM work.dispute_jobs WHERE tenant = $1 AND dispute_id = $2`, tenant, id)
	if err != nil {
		return kinds.DisputeJob{}, unavailable(err)
	}
	j, err := pgx.CollectExactlyOneRow(rows, scanJob)
	return j, unavailable(err)
}

// The working of jobs: a lease that is prolonged by progress, and how often one is tried while the store or the log is away.
const (
	disputeLease    = 30 * time.Second
	disputeAttempts = 20 // also of those that ended with their process
)

// errTaken says that another process works on the job.
var errTaken = errors.New("another process works on the dispute")

// Work takes one queued dispute, decides and records it; false when there is none to take. A process that dies leaves it to the
// next one once its lease is over. An error is of that dispute, which is tried again later, or has failed for good.
func (d *Disputes) Work(ctx context.Context, holder string) (worked bool, err error) {
	j, err := d.Store.takeDispute(ctx, holder)
	if errors.Is(err, kinds.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = d.work(ctx, holder, j)
	if errors.Is(err, errTaken) {
		return true, nil
	}
	return true, errors.Join(err, d.Store.endDispute(context.WithoutCancel(ctx), holder, j, err))
}

func (d *Disputes) work(ctx context.Context, holder string, j kinds.DisputeJob) error {
	told := func(done, total int) error { return d.Store.noteDispute(ctx, holder, j, done, total) }
	if j.Reverifies == nil {
		_, err := d.record(ctx, j.Who, j.DisputeRequest, told)
		return err
	}
	e, a, err := d.Store.Dispute(ctx, j.Who.Tenant, j.ID)
	if err != nil {
		return err
	}
	_, err = d.reverify(ctx, j.Who, e.Seq, a, "rev_"+rand.Text(), told)
	return err
}

// takeDispute takes the oldest job that nobody works on. kinds.ErrNotFound when there is none. One that was taken as often as
// any may be, and of which nothing was heard, is given up: it may be what its processes died of.
func (s *Store) takeDispute(ctx context.Context, holder string) (kinds.DisputeJob, error) {
	_, err := s.pool.Exec(ctx, `
		UPDATE work.dispute_jobs
		SET state = 'failed', problem = 'unavailable', customer_id = '', request_id = '', receipt_id = '', reason = '', holder = ''
		WHERE state = 'running' AND lease_until < clock_timestamp() AND attempts >= $1`, disputeAttempts)
	if err != nil {
		return kinds.DisputeJob{}, unavailable(err)
	}
	rows, err := s.pool.Query(ctx, `
		UPDATE work.dispute_jobs SET state = 'running', holder = $1, lease_until = clock_timestamp() + $2::interval, attempts = attempts + 1
		WHERE (tenant, dispute_id) = (
			SELECT tenant, dispute_id FROM work.dispute_jobs WHERE state IN ('queued', 'running') AND lease_until < clock_timestamp()
			ORDER BY raised_at LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING `+jobColumns, holder, disputeLease)
	if err != nil {
		return kinds.DisputeJob{}, unavailable(err)
	}
	j, err := pgx.CollectExactlyOneRow(rows, scanJob)
	return j, unavailable(err)
}

// noteDispute keeps the progress and prolongs the lease.
func (s *Store) noteDispute(ctx context.Context, holder string, j kinds.DisputeJob, done, total int) error {
	tag, err := s.pool.Exec(ctx, `
		UPDATE work.dispute_jobs SET done = $4, total = $5, lease_until = clock_timestamp() + $6::interval
		WHERE tenant = $1 AND dispute_id = $2 AND holder = $3 AND state = 'running'`, j.Who.Tenant, j.ID, holder, done, total, disputeLease)
	if err == nil && tag.RowsAffected() == 0 {
		return errTaken
	}
	return unavailable(err)
}

// endDispute closes a job: done, failed for good, or left to be tried again after a pause that grows. One that is over forgets
// whom it is about, so that it can be erased: what is done is in its entry, and of what failed no entry tells.
func (s *Store) endDispute(ctx context.Context, holder string, j kinds.DisputeJob, cause error) error {
	state, problem := "done", ""
	var conflict *kinds.ConflictError
	var erased *kinds.ErasedError
	switch {
	case errors.As(cause, &conflict):
		state, problem = kinds.DisputeFailed, "conflict"
	case errors.As(cause, &erased):
		state, problem = kinds.DisputeFailed, "erased"
	case errors.Is(cause, kinds.ErrTooMuch):
		state, problem = kinds.DisputeFailed, "question-too-wide"
	case cause != nil && (errors.Is(cause, kinds.ErrUnavailable) || errors.Is(cause, kinds.ErrBusy) || errors.Is(cause, kinds.ErrReadOnly) || errors.Is(cause, context.Canceled)):
		state = kinds.DisputeQueued
	case cause != nil:
		state, problem = kinds.DisputeFailed, "internal"
	}
	_, err := s.pool.Exec(ctx, `
		UPDATE work.dispute_jobs
		SET state = CASE WHEN $4 = 'queued' AND attempts >= $6 THEN 'failed' ELSE $4 END, problem = nullif(CASE WHEN $4 = 'queued' AND attempts >= $6 THEN 'unavailable' ELSE $5 END, ''),
		    customer_id = CASE WHEN $4 = 'queued' AND attempts < $6 THEN customer_id ELSE '' END, request_id = CASE WHEN $4 = 'queued' AND attempts < $6 THEN request_id ELSE '' END,
		    receipt_id = CASE WHEN $4 = 'queued' AND attempts < $6 THEN receipt_id ELSE '' END, reason = CASE WHEN $4 = 'queued' AND attempts < $6 THEN reason ELSE '' END,
		    holder = '', lease_until = CASE WHEN $4 = 'queued' AND NOT $7 THEN clock_timestamp() + least(attempts, 10) * interval '3 seconds' ELSE '-infinity' END
		WHERE tenant = $1 AND dispute_id = $2 AND holder = $3`,
		j.Who.Tenant, j.ID, holder, state, problem, disputeAttempts, errors.Is(cause, context.Canceled))
	return unavailable(err)
}
