package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// claimed takes the claims on the lines in question, and those of the intents that are in question as a whole.
func (r *disputeRead) claimed(ctx context.Context) error {
	originals := r.originals()
	if err := r.readIntents(ctx, originals); err != nil {
		return err
	}
	whole := slices.Concat(r.whole, originals)
	r.e.Claims = nil
	asked := map[audit.DisputedClaim]bool{}
	for _, l := range r.e.Lines {
		asked[audit.DisputedClaim{UsageSeq: l.Seq, ProviderID: l.ProviderID}] = true
	}
	rows, err := r.store.pool.Query(ctx, `
		SELECT seq, usage_seq, provider_id, tokens FROM ledger.billing_claims WHERE tenant = $1 AND usage_seq = ANY($2) AND seq < $4
		UNION SELECT seq, usage_seq, provider_id, tokens FROM ledger.billing_claims WHERE tenant = $1 AND seq = ANY($3) AND seq < $4
		ORDER BY usage_seq, provider_id, seq`, r.tenant, r.seqs(), whole, r.size)
	if err != nil {
		return unavailable(err)
	}
	var c audit.DisputedClaim
	_, err = pgx.ForEachRow(rows, []any{&c.Intent, &c.UsageSeq, &c.ProviderID, &c.Tokens}, func() error {
		if asked[audit.DisputedClaim{UsageSeq: c.UsageSeq, ProviderID: c.ProviderID}] || slices.Contains(whole, c.Intent) {
			r.e.Claims = append(r.e.Claims, c)
		}
		return nil
	})
	if err == nil && len(r.e.Claims) > kinds.MaxDisputeReports {
		return kinds.ErrTooMuch
	}
	return unavailable(err)
}

// originals are the intents that those read so far stand for.
func (r *disputeRead) originals() (seqs []int64) {
	for _, x := range r.e.Intents {
		if x.Intent.Replaces != 0 {
			seqs = append(seqs, x.Intent.Replaces)
		}
	}
	return seqs
}

// seqs lists the entries of the lines.
func (r *disputeRead) seqs() []int64 {
	seqs := make([]int64, 0, len(r.have))
	for seq := range r.have {
		seqs = append(seqs, seq)
	}
	return seqs
}

// lines reads what claims bill and was not asked for, and the intents of claims on what was.
func (r *disputeRead) lines(ctx context.Context) error {
	wanted, intents := map[audit.DisputedClaim]bool{}, []int64{}
	var unread []int64
	for _, c := range r.e.Claims {
		intents = append(intents, c.Intent)
		if !r.have[c.UsageSeq] {
			unread = append(unread, c.UsageSeq)
			wanted[audit.DisputedClaim{UsageSeq: c.UsageSeq, ProviderID: c.ProviderID}] = true
		}
	}
	before := len(r.e.Lines)
	if err := r.readLines(ctx, `p.seq = ANY($4)`, unread); err != nil {
		return err
	}
	r.e.Lines = slices.Concat(r.e.Lines[:before], slices.DeleteFunc(slices.Clone(r.e.Lines[before:]), func(l audit.DisputedLine) bool {
		return !wanted[audit.DisputedClaim{UsageSeq: l.Seq, ProviderID: l.ProviderID}] // another provider of the same report
	}))
	slices.SortFunc(r.e.Lines, func(a, b audit.DisputedLine) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	for _, seq := range r.reports {
		if !r.have[seq] {
			r.e.Bare = append(r.e.Bare, seq)
		}
	}
	slices.Sort(intents)
	return r.readIntents(ctx, slices.Compact(intents))
}

// narrow drops what intents of a customer claim outside the period: usage of the same window before or after it. What is claimed
// and is not there stays, since nobody can say when it was.
func (r *disputeRead) narrow(context.Context) error {
	q := r.e.Question
	if q.CustomerID == "" {
		return nil
	}
	within := map[int64]bool{} // intents that lie in the period
	for _, x := range r.e.Intents {
		within[x.Seq] = !x.Intent.Window.Start.Before(*q.From) && !x.Intent.Window.End.After(*q.To)
	}
	outside := map[audit.DisputedClaim]bool{}
	for _, l := range r.e.Lines {
		outside[audit.DisputedClaim{UsageSeq: l.Seq, ProviderID: l.ProviderID}] = l.AsOf.Before(*q.From) || !l.AsOf.Before(*q.To)
	}
	for _, c := range r.e.Claims {
		if within[c.Intent] {
			delete(outside, audit.DisputedClaim{UsageSeq: c.UsageSeq, ProviderID: c.ProviderID})
		}
	}
	r.e.Lines = slices.DeleteFunc(r.e.Lines, func(l audit.DisputedLine) bool {
		return outside[audit.DisputedClaim{UsageSeq: l.Seq, ProviderID: l.ProviderID}]
	})
	r.e.Claims = slices.DeleteFunc(r.e.Claims, func(c audit.DisputedClaim) bool {
		return outside[audit.DisputedClaim{UsageSeq: c.UsageSeq, ProviderID: c.ProviderID}]
	})
	return r.dropIntents(within)
}

// dropIntents forgets the intents that neither lie in the period nor claim anything of it, nor stand for one that does.
func (r *disputeRead) dropIntents(within map[int64]bool) error {
	claiming := map[int64]bool{}
	for _, c := range r.e.Claims {
		claiming[c.Intent] = true
	}
	r.e.Intents = slices.DeleteFunc(r.e.Intents, func(x audit.DisputedIntent) bool {
		return !claiming[x.Seq] && !within[x.Seq] && !claiming[x.Intent.Replaces]
	})
	r.intents = map[int64]bool{}
	for _, x := range r.e.Intents {
		r.intents[x.Seq] = true
	}
	return nil
}

// maxReplacements bounds how often the event of one intent is followed to another.
const maxReplacements = 64

// replacements follows each intent to those that stand for it.
func (r *disputeRead) replacements(ctx context.Context) error {
	for range maxReplacements {
		known := make([]int64, 0, len(r.intents))
		for seq := range r.intents {
			known = append(known, seq)
		}
		rows, err := r.store.pool.Query(ctx, `SELECT seq FROM ledger.billing_intents WHERE tenant = $1 AND replaces = ANY($2) AND seq < $3`, r.tenant, known, r.size)
		if err != nil {
			return unavailable(err)
		}
		seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return unavailable(err)
		}
		if err := r.readIntents(ctx, seqs); err != nil {
			return err
		}
		if len(r.intents) == len(known) {
			break
		}
	}
	slices.SortFunc(r.e.Intents, func(a, b audit.DisputedIntent) int { return cmp.Compare(a.Seq, b.Seq) })
	return nil
}

// outcomes reads what became of each intent: the newest outcome's state.
func (r *disputeRead) outcomes(ctx context.Context) error {
	for _, x := range r.e.Intents {
		for _, c := range r.revisions {
			if c.Revision == x.Intent.Revision {
				r.e.Configs = append(r.e.Configs, c.Seq)
			}
		}
	}
	at := map[int64]*audit.DisputedIntent{}
	seqs := make([]int64, 0, len(r.e.Intents))
	for i := range r.e.Intents {
		x := &r.e.Intents[i]
		at[x.Seq] = x
		seqs = append(seqs, x.Seq)
		if x.State == billing.Planned && !x.Intent.Sends() {
			x.State = billing.Settled
		}
	}
	rows, err := r.store.pool.Query(ctx, `
		SELECT seq, intent_seq, state FROM ledger.billing_outcomes WHERE tenant = $1 AND intent_seq = ANY($2) AND seq < $3 ORDER BY intent_seq, number`, r.tenant, seqs, r.size)
	if err != nil {
		return unavailable(err)
	}
	var seq, intent int64
	var state string
	_, err = pgx.ForEachRow(rows, []any{&seq, &intent, &state}, func() error {
		x := at[intent]
		x.State, x.Outcomes = billing.State(state), append(x.Outcomes, seq)
		return nil
	})
	return unavailable(err)
}

// receipts reads the bundles of the same requests.
func (r *disputeRead) receipts(ctx context.Context) error {
	have := map[int64]bool{}
	for _, x := range r.e.Receipts {
		have[x.Seq] = true
	}
	requests := slices.Clone(r.requests)
	for _, l := range r.e.Lines {
		if l.Corrects == nil {
			requests = append(requests, l.RequestID)
		}
	}
	slices.Sort(requests)
	rows, err := r.store.pool.Query(ctx, `
		SELECT seq, request_id FROM ledger.receipts WHERE tenant = $1 AND request_id = ANY($2) AND seq < $3 ORDER BY seq LIMIT $4`,
		r.tenant, slices.Compact(requests), r.size, kinds.MaxDisputeReports+1)
	if err != nil {
		return unavailable(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[audit.DisputedReceipt])
	if err != nil {
		return unavailable(err)
	}
	for _, x := range found {
		if !have[x.Seq] {
			r.e.Receipts = append(r.e.Receipts, x)
		}
	}
	if len(r.e.Receipts) > kinds.MaxDisputeReports {
		return kinds.ErrTooMuch
	}
	return nil
}

// consent makes the gate for the providers that content may have gone to.
func (r *disputeRead) consent(ctx context.Context) (err error) {
	seen := map[string]bool{}
	var providers []string
	for _, l := range r.e.Lines {
		if !seen[l.ProviderID] {
			seen[l.ProviderID] = true
			providers = append(providers, l.ProviderID)
		}
	}
	r.e.Gate, err = r.store.gate(ctx, r.tenant, providers, r.size)
	return err
}

// disputedLines counts, up to one too many, the usage lines that are asked for.
func (s *Store) disputedLines(ctx context.Context, tenant string, q kinds.DisputeQuestion) (n int, err error) {
	switch {
	case q.CustomerID != "":
		err = s.pool.QueryRow(ctx, `
			SELECT count(*) FROM (SELECT FROM ledger.usage_lines WHERE tenant = $1 AND customer_id = $2 AND as_of >= $3 AND as_of < $4 LIMIT $5) u`,
			pgx.QueryExecModeExec, tenant, q.CustomerID, *q.From, *q.To, kinds.MaxDisputeReports+1).Scan(&n)
	case q.BillingEvent != "": // of one intent
		err = s.pool.QueryRow(ctx, `SELECT claims FROM ledger.billing_intents WHERE tenant = $1 AND identifier = $2`, tenant, q.BillingEvent).Scan(&n)
	default:
		n = 1
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return n, unavailable(err)
}
