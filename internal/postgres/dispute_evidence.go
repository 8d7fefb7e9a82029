package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// disputeEvidence reads the whole chain of what is disputed, as the tree of head has it: usage lines, the claims on them, the
// intents of these with what became of each, consent, and the receipts of the same requests. What erased rows still say is
// used; who they were about is not known any more. kinds.ErrTooMuch beyond kinds.MaxDisputeReports lines.
func (s *Store) disputeEvidence(ctx context.Context, tenant string, q kinds.DisputeQuestion, head ledger.Head) (audit.DisputeEvidence, error) {
	r := &disputeRead{store: s, tenant: tenant, size: head.Next(), e: audit.DisputeEvidence{Question: q}, have: map[int64]bool{}, intents: map[int64]bool{}}
	// Twice: what claims bill may be claimed by others, too.
	for _, step := range []func(context.Context) error{r.configs, r.asked, r.claimed, r.lines, r.claimed, r.lines, r.narrow, r.replacements, r.outcomes, r.receipts, r.consent} {
		if err := step(ctx); err != nil {
			return r.e, err
		}
	}
	return r.e, nil
}

// disputeRead is one reading.
type disputeRead struct {
	store  *Store
	tenant string
	size   int64 // entries from this seq on are left out
	e      audit.DisputeEvidence

	revisions []*kinds.BillingConfig
	reports   []int64        // asked for by seq
	requests  []string       // of receipts that are asked for
	have      map[int64]bool // entries whose lines are read
	intents   map[int64]bool // read
	whole     []int64        // intents all of whose claims are in question
}

// configs reads every revision of the billing configuration: an intent names its customer by the one that it was planned under.
func (r *disputeRead) configs(ctx context.Context) (err error) {
	if r.revisions, err = r.store.BillingConfigs(ctx, r.tenant); err != nil {
		return err
	}
	r.revisions = slices.DeleteFunc(r.revisions, func(c *kinds.BillingConfig) bool { return c.Seq >= r.size })
	if len(r.revisions) == 0 {
		return nil
	}
	inForce := r.revisions[len(r.revisions)-1]
	r.e.Terms, r.e.Configs = &inForce.Config, []int64{inForce.Seq}
	return nil
}

// asked finds where the chain begins.
func (r *disputeRead) asked(ctx context.Context) error {
	switch q := r.e.Question; {
	case q.CustomerID != "":
		return r.askedCustomer(ctx, q)
	case q.BillingEvent != "":
		seq, err := r.store.seqOfKey(ctx, r.tenant, &kinds.BillingIntent, q.BillingEvent)
		if err != nil || seq == nil || *seq >= r.size {
			return err
		}
		r.whole = append(r.whole, *seq)
		return r.readIntents(ctx, r.whole)
	case q.ReceiptID != "":
		return r.askedReceipt(ctx, q.ReceiptID)
	default:
		return r.askedRequests(ctx, q.RequestID)
	}
}

// askedCustomer takes the customer's lines of the period, and the intents for it whose window overlaps the period: these may
// claim lines that name the customer no more, or never did.
func (r *disputeRead) askedCustomer(ctx context.Context, q kinds.DisputeQuestion) error {
	if err := r.readLines(ctx, `p.customer_id = $4 AND p.as_of >= $5 AND p.as_of < $6`, q.CustomerID, *q.From, *q.To); err != nil {
		return err
	}
	var customers []string
	for _, c := range r.revisions {
		if m, mapped := c.Config.Mapped(q.CustomerID); mapped && !slices.Contains(customers, m.Customer) {
			customers = append(customers, m.Customer)
		}
	}
	if customers == nil {
		return nil
	}
	rows, err := r.store.pool.Query(ctx, `
		SELECT seq FROM ledger.billing_intents
		WHERE tenant = $1 AND stripe_customer = ANY($2) AND window_end > $3 AND window_start < $4 AND seq < $5 ORDER BY seq LIMIT $6`,
		r.tenant, customers, *q.From, *q.To, r.size, kinds.MaxDisputeReports+1)
	if err != nil {
		return unavailable(err)
	}
	if r.whole, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
		return unavailable(err)
	}
	return r.readIntents(ctx, r.whole)
}

// askedRequests takes the reports of requests, and the corrections of them.
func (r *disputeRead) askedRequests(ctx context.Context, requests ...string) error {
	for _, id := range requests {
		seq, err := r.store.seqOfKey(ctx, r.tenant, &kinds.UsageReport, id)
		if err != nil {
			return err
		}
		if seq != nil && *seq < r.size {
			r.reports = append(r.reports, *seq)
		}
	}
	r.requests = append(r.requests, requests...)
	rows, err := r.store.pool.Query(ctx, `SELECT seq FROM ledger.corrections WHERE tenant = $1 AND report_seq = ANY($2) AND seq < $3`, r.tenant, r.reports, r.size)
	if err != nil {
		return unavailable(err)
	}
	corrections, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return unavailable(err)
	}
	return r.readLines(ctx, `p.seq = ANY($4)`, slices.Concat(r.reports, corrections))
}

// askedReceipt takes the bundles of a receipt, and the requests that they name.
func (r *disputeRead) askedReceipt(ctx context.Context, id string) error {
	rows, err := r.store.pool.Query(ctx, `
		SELECT seq, coalesce(request_id, '') FROM ledger.receipts WHERE tenant = $1 AND receipt_id = $2 AND seq < $3 ORDER BY seq LIMIT $4`,
		r.tenant, id, r.size, kinds.MaxDisputeReports+1)
	if err != nil {
		return unavailable(err)
	}
	if r.e.Receipts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[audit.DisputedReceipt]); err != nil {
		return unavailable(err)
	}
	requests := map[string]bool{}
	for _, receipt := range r.e.Receipts {
		if receipt.RequestID != "" {
			requests[receipt.RequestID] = true
		}
	}
	return r.askedRequests(ctx, slices.Sorted(maps.Keys(requests))...)
}

const disputedColumns = `
	SELECT p.seq, e.recorded_at, p.request_id, p.provider_id, p.as_of, p.frames_served, p.tokens,
	       p.frame_providers, p.frame_ids, p.frame_digests, p.frame_tokens, coalesce(p.customer_id, ''), p.corrects
	FROM ledger.usage_lines p` + recordedOf

// readLines reads usage lines by a condition of this file on p, never a caller's text. Its arguments begin with $4.
func (r *disputeRead) readLines(ctx context.Context, where string, args ...any) error {
	rows, err := r.store.pool.Query(ctx, disputedColumns+` WHERE p.tenant = $1 AND p.seq < $2 AND `+where+` LIMIT $3`,
		slices.Concat([]any{pgx.QueryExecModeExec, r.tenant, r.size, kinds.MaxDisputeReports + 1}, args)...)
	if err != nil {
		return unavailable(err)
	}
	lines, err := pgx.CollectRows(rows, scanDisputedLine)
	if err != nil {
		return unavailable(err)
	}
	for _, l := range lines {
		if !r.have[l.Seq] {
			r.e.Lines = append(r.e.Lines, l)
		}
	}
	for _, l := range lines {
		r.have[l.Seq] = true
	}
	if len(r.e.Lines) > kinds.MaxDisputeReports {
		return kinds.ErrTooMuch
	}
	return nil
}

func scanDisputedLine(row pgx.CollectableRow) (audit.DisputedLine, error) {
	var l audit.DisputedLine
	var f frameColumns
	err := row.Scan(&l.Seq, &l.RecordedAt, &l.RequestID, &l.ProviderID, &l.AsOf, &l.FramesServed, &l.Tokens,
		&f.providers, &f.ids, &f.digests, &f.tokens, &l.CustomerID, &l.Corrects)
	l.RecordedAt, l.AsOf = l.RecordedAt.UTC(), l.AsOf.UTC()
	l.Frames = f.served(l.ProviderID)
	for _, tokens := range f.tokens {
		l.FrameCost += tokens
	}
	return l, err
}

// readIntents reads intents from their entries. One that can't be read is kept as far as it is known: it does not hold together,
// which is for the dispute to say.
func (r *disputeRead) readIntents(ctx context.Context, seqs []int64) error {
	seqs = slices.DeleteFunc(slices.Clone(seqs), func(seq int64) bool { return r.intents[seq] })
	if len(seqs) == 0 {
		return nil
	}
	rows, err := r.store.pool.Query(ctx, `
		SELECT c.seq, c.content FROM ledger.entries e JOIN ledger.contents c USING (seq)
		WHERE e.seq = ANY($2) AND e.tenant = $1 AND e.kind = $3 AND e.seq < $4 ORDER BY e.seq`, r.tenant, seqs, kinds.BillingIntent.Name, r.size)
	if err != nil {
		return unavailable(err)
	}
	var e ledger.Entry
	_, err = pgx.ForEachRow(rows, []any{&e.Seq, &e.Content}, func() error {
		intent, err := kinds.ReadBillingIntent(e)
		if err != nil {
			intent = billing.Intent{} // whose Check fails
		}
		r.intents[e.Seq] = true
		r.e.Intents = append(r.e.Intents, audit.DisputedIntent{Seq: e.Seq, Intent: intent, State: billing.Planned, CustomerID: r.customerOf(intent)})
		e.Content = nil
		return nil
	})
	return unavailable(err)
}

// customerOf is whom the configuration that an intent was planned under bills by it.
func (r *disputeRead) customerOf(i billing.Intent) string {
	for _, c := range r.revisions {
		if c.Revision == i.Revision {
			m, _ := c.Config.Of(i.Event.Customer)
			return m.CustomerID
		}
	}
	return ""
}
