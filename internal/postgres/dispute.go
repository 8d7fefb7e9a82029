package postgres

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// Disputes decides what is disputed from what is recorded, and records it by the one append path. It is safe for concurrent
// use, by several processes.
type Disputes struct {
	Store     *Store
	Append    func(context.Context, kinds.Poster, *kinds.Accepted) (kinds.Recorded, error)
	Verifiers []note.Verifier
	AtOnce    int // usage lines that a request waits for; more become a job. 0 for defaultAtOnce
}

const (
	// defaultAtOnce takes some three seconds on two cores.
	defaultAtOnce = 12_000
	// disputeStretch is how many entries are verified at once, so that progress is seen and memory stays small.
	disputeStretch = 1_000
)

// progress is told how many entries are verified, of how many. Its error ends the work.
type progress func(done, total int) error

func unobserved(int, int) error { return nil }

// Raise decides a dispute and records it, or queues it when it covers more than a request may wait for. The same request again
// gets what is there, with Replayed; *kinds.ConflictError when its id is another's, *kinds.ErasedError when it was erased.
// kinds.ErrTooMuch beyond kinds.MaxDisputeReports usage lines.
func (d *Disputes) Raise(ctx context.Context, who kinds.Poster, r kinds.DisputeRequest) (kinds.DisputeRaised, error) {
	if found, err := d.found(ctx, who.Tenant, r); found != nil || err != nil {
		return raisedBefore(found), err
	}
	n, err := d.Store.disputedLines(ctx, who.Tenant, r.Question)
	switch {
	case err != nil:
		return kinds.DisputeRaised{}, err
	case n > kinds.MaxDisputeReports:
		return kinds.DisputeRaised{}, kinds.ErrTooMuch
	case n > d.atOnce():
		return d.queue(ctx, who, r)
	}
	recorded, err := d.record(ctx, who, r, unobserved)
	return kinds.DisputeRaised{Recorded: &recorded}, err
}

// queue queues a dispute, unless another request was queued under its id meanwhile.
func (d *Disputes) queue(ctx context.Context, who kinds.Poster, r kinds.DisputeRequest) (kinds.DisputeRaised, error) {
	if err := d.Store.queueDispute(ctx, who, r, nil); err != nil {
		return kinds.DisputeRaised{}, err
	}
	found, err := d.found(ctx, who.Tenant, r)
	if err != nil || found == nil || found.Recorded != nil {
		return raisedBefore(found), err
	}
	return kinds.DisputeRaised{}, nil
}

func (d *Disputes) atOnce() int {
	if d.AtOnce > 0 {
		return d.AtOnce
	}
	return defaultAtOnce
}

func raisedBefore(found *kinds.DisputeRaised) kinds.DisputeRaised {
	if found == nil {
		return kinds.DisputeRaised{}
	}
	return *found
}

// found is the same request raised before; nil for none. A job that has failed no longer knows what it was asked, so whatever
// is asked under its id is answered with its failure.
func (d *Disputes) found(ctx context.Context, tenant string, r kinds.DisputeRequest) (*kinds.DisputeRaised, error) {
	e, a, err := d.Store.Dispute(ctx, tenant, r.ID)
	switch {
	case err == nil && a.Reason == r.Reason && a.Question.Same(r.Question):
		return &kinds.DisputeRaised{Replayed: true, Recorded: &kinds.Recorded{
			Seq: e.Seq, Kind: e.Meta.Kind, Key: e.Meta.Key, RecordedAt: e.RecordedAt, LeafHash: e.LeafHash, Replayed: true,
		}}, nil
	case err == nil:
		return nil, &kinds.ConflictError{Seq: e.Seq}
	case !errors.Is(err, kinds.ErrNotFound):
		return nil, err
	}
	job, err := d.Store.DisputeJob(ctx, tenant, r.ID)
	switch {
	case errors.Is(err, kinds.ErrNotFound):
		return nil, nil
	case err == nil && job.State != kinds.DisputeFailed && (job.Reason != r.Reason || !job.Question.Same(r.Question)):
		return nil, &kinds.ConflictError{Seq: -1}
	}
	return &kinds.DisputeRaised{Replayed: true}, err
}

// record decides and appends. When somebody else recorded it under the same id meanwhile, theirs is the answer.
func (d *Disputes) record(ctx context.Context, who kinds.Poster, r kinds.DisputeRequest, told progress) (kinds.Recorded, error) {
	a, err := d.decide(ctx, who.Tenant, r.Question, told)
	if err != nil {
		return kinds.Recorded{}, err
	}
	a.DisputeID, a.Reason = r.ID, r.Reason
	accepted, err := kinds.NewDispute(a)
	if err != nil {
		return kinds.Recorded{}, err
	}
	recorded, err := d.Append(ctx, who, accepted)
	var conflict *kinds.ConflictError
	if errors.As(err, &conflict) { // in another tree, maybe
		found, failed := d.found(ctx, who.Tenant, r)
		switch {
		case failed != nil:
			return kinds.Recorded{}, failed
		case found != nil && found.Recorded != nil:
			return *found.Recorded, nil
		}
	}
	return recorded, err
}

// decide gathers the evidence, verifies every entry of it, and decides.
func (d *Disputes) decide(ctx context.Context, tenant string, q kinds.DisputeQuestion, told progress) (kinds.DisputeArtifact, error) {
	head, err := d.Store.Head(ctx)
	if err != nil {
		return kinds.DisputeArtifact{}, err
	}
	e, err := d.Store.disputeEvidence(ctx, tenant, q, head)
	if err != nil {
		return kinds.DisputeArtifact{}, err
	}
	if err := d.verify(ctx, tenant, &e, e.Chain(), head, told); err != nil {
		return kinds.DisputeArtifact{}, err
	}
	a := audit.Decide(e)
	c, err := ledger.ReadCheckpoint([]byte(head.Checkpoint))
	if err != nil {
		return a, errors.Join(kinds.ErrReadOnly, err)
	}
	a.Against = audit.TreeOf(c)
	return a, nil
}

// verify checks entries of the chain again, a stretch at a time.
func (d *Disputes) verify(ctx context.Context, tenant string, e *audit.DisputeEvidence, seqs []int64, head ledger.Head, told progress) error {
	e.Checked = make(audit.Checked, len(seqs))
	done := 0
	for stretch := range slices.Chunk(seqs, disputeStretch) {
		checked, err := d.Store.VerifyEntries(ctx, tenant, stretch, head, d.Verifiers...)
		if err != nil {
			return err
		}
		for seq, r := range checked {
			e.Checked[seq] = r
		}
		if done += len(stretch); done < len(seqs) {
			if err := told(done, len(seqs)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reverify decides a recorded dispute again, from what the ledger has now, and records what changed since; or queues that. It
// returns nil when it is queued. kinds.ErrNotFound when there is no such dispute, *kinds.ErasedError when it was erased.
func (d *Disputes) Reverify(ctx context.Context, who kinds.Poster, id, key string) (*kinds.Recorded, error) {
	e, a, err := d.Store.Dispute(ctx, who.Tenant, id)
	if err != nil {
		return nil, err
	}
	if len(a.Entries.Reports) > d.atOnce() {
		return nil, d.Store.queueDispute(ctx, who, kinds.DisputeRequest{ID: id, Question: a.Question, Reason: a.Reason}, &e.Seq)
	}
	recorded, err := d.reverify(ctx, who, e.Seq, a, key, unobserved)
	return &recorded, err
}

func (d *Disputes) reverify(ctx context.Context, who kinds.Poster, seq int64, before kinds.DisputeArtifact, key string, told progress) (kinds.Recorded, error) {
	now, err := d.decide(ctx, who.Tenant, before.Question, told)
	if err != nil {
		return kinds.Recorded{}, err
	}
	last, err := d.Store.lastReverification(ctx, seq)
	if err != nil {
		return kinds.Recorded{}, err
	}
	accepted, err := audit.DisputeReverified(seq, last, before, now, key)
	if err != nil {
		return kinds.Recorded{}, err
	}
	return d.Append(ctx, who, accepted)
}
