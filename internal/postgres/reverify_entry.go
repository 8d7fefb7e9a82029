package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// VerifyEntry says all that can be checked again of one entry, in the newest tree: what VerifyEntries checks, a bundle's
// verdict under the tenant's current policy at an instant, a context record's with the entries that there are now, and how
// consent covered what the entry reports to have left. kinds.ErrNotFound when there is no such entry or the asker may not see
// it.
func (s *Store) VerifyEntry(ctx context.Context, tenant string, see kinds.Visibility, seq int64, at time.Time, verifiers ...note.Verifier) (audit.Report, error) {
	of, err := s.tenantOf(ctx, tenant, see, seq)
	if err != nil {
		return audit.Report{}, err
	}
	head, err := s.Head(ctx) // read after the entry, so it covers it
	if err != nil {
		return audit.Report{}, err
	}
	examined, err := s.examine(ctx, of, []int64{seq}, head, verifiers)
	if err != nil {
		return audit.Report{}, err
	}
	x := examined[seq]
	if x == nil {
		return audit.Report{}, kinds.ErrNotFound
	}
	for _, judge := range []func() error{
		func() error { return s.judgeNow(ctx, of, x, at) },
		func() error { return s.judgeConsent(ctx, of, x, head.Next()) },
	} {
		if err := judge(); err != nil {
			return audit.Report{}, err
		}
	}
	return x.Report(), nil
}

// tenantOf is whose entry it is, the asker's or the log's own, if the asker may see it. The entry's other parts may be damaged,
// so nothing else is read.
func (s *Store) tenantOf(ctx context.Context, tenant string, see kinds.Visibility, seq int64) (of string, err error) {
	var kind, tokenID string
	err = s.pool.QueryRow(ctx, `SELECT tenant, kind, token_id FROM ledger.entries WHERE seq = $2 AND (tenant = $1 OR (tenant = '' AND kind = ANY($3)))`,
		tenant, seq, see.LogKinds()).Scan(&of, &kind, &tokenID)
	if err == nil && !see.Sees(kind, tokenID) {
		err = kinds.ErrNotFound
	}
	return of, unavailable(err)
}

// judgeNow judges by today's policy, or with today's entries. Where these are damaged, which their own reports say, there is
// nothing to judge by.
func (s *Store) judgeNow(ctx context.Context, tenant string, x *audit.Examination, at time.Time) (err error) {
	switch needs := x.Needs(); {
	case x.IsBundle():
		var policy *kinds.TrustPolicy
		if policy, err = s.TrustPolicy(ctx, tenant); err == nil {
			x.Current(policy, at)
		}
	case needs != nil:
		var parts *kinds.ContextParts
		if parts, err = s.ContextParts(ctx, tenant, *needs); err == nil {
			x.RejudgeNow(parts)
		}
	}
	if errors.Is(err, kinds.ErrStored) {
		x.Skip(audit.CheckCurrent, "an entry that it would be judged by can't be read")
		return nil
	}
	return err
}

// judgeConsent asks the gate about what the entry reports to have left.
func (s *Store) judgeConsent(ctx context.Context, tenant string, x *audit.Examination, size int64) error {
	var providers []string
	for _, u := range x.Egress() {
		if !slices.Contains(providers, u.ProviderID) {
			providers = append(providers, u.ProviderID)
		}
	}
	gate, err := s.gate(ctx, tenant, providers, size)
	if errors.Is(err, kinds.ErrTooMuch) {
		x.Skip(audit.CheckConsent, "its providers have more consents than one answer may read")
		return nil
	}
	if err == nil {
		x.Consent(gate)
	}
	return err
}

// gate reads consent and declarations of some providers, recorded below a seq.
func (s *Store) gate(ctx context.Context, tenant string, providers []string, size int64) (*audit.Gate, error) {
	consents, err := s.consents(ctx, tenant, providers, size)
	if err != nil {
		return nil, err
	}
	declared, err := s.declarations(ctx, tenant, providers, size)
	if err != nil {
		return nil, err
	}
	return audit.NewGate(consents, declared), nil
}
