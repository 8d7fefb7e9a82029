package relay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledgerd/metering/billing"
)

// ReconcileTenant compares each open period of each billed customer, and those that ended a moment ago, with what the processor has. What was confirmed and is
// seen to be missing is sent again as another intent once it has been missing for billing.AbsentFor. Everything else that
// differs is shown and said, and never put right. It begins nothing more once the given time is over, and says so; 0 for no
// limit but ctx.
func (b *Biller) ReconcileTenant(ctx context.Context, tenant string, within time.Duration) (all []billing.Standing, more bool, err error) {
	t, refusal, err := b.terms(ctx, tenant, within)
	if err != nil || t == nil {
		if refusal != nil {
			err = fmt.Errorf("%w: %s", billing.ErrRefused, refusal.Reason)
		}
		return nil, false, err
	}
	now := b.o.Now()
	lanes, err := b.o.Books.BilledLanes(ctx, tenant, now.Add(-billing.MaxAge))
	if err != nil {
		return nil, false, err
	}
	for _, l := range lanes {
		m, mapped := t.Config.Of(l.Customer)
		if !mapped || l.MeterID != t.Config.MeterID {
			continue
		}
		if t.over() {
			return all, true, nil
		}
		for _, p := range t.Config.ComparedPeriods(m, now) {
			s, err := b.standing(ctx, t, l, m, p)
			if err != nil {
				return all, false, err
			}
			all = append(all, s)
		}
	}
	return all, false, nil
}

func (b *Biller) standing(ctx context.Context, t *terms, l billing.Lane, m billing.Mapping, p billing.Period) (billing.Standing, error) {
	s := billing.Standing{CustomerID: m.CustomerID, StripeCustomer: l.Customer, MeterID: l.MeterID, Period: p, CheckedAt: b.o.Now()}
	var err error
	if s.Balance, err = b.o.Books.Moment(ctx, l, p); err != nil {
		return s, err
	}
	has, err := b.total(ctx, t.processor, l, p)
	if err != nil {
		return s, err
	}
	// What was confirmed while the processor was asked is in neither number, or only in one.
	if s.Balance, err = b.o.Books.Moment(ctx, l, p); err != nil {
		return s, err
	}
	s.Total = has.tokens
	s.Agreement = billing.Reconcile(s.Balance, has.tokens, b.o.Now())
	if s.Agreement == billing.Higher && has.exact {
		if err := b.takenBackLately(ctx, l, &s); err != nil {
			return s, err
		}
	}
	switch {
	case !has.exact:
		s.Agreement, s.Detail = billing.Higher, "the processor's total is beyond what its floating-point numbers tell apart"
	case s.Agreement == billing.Settling:
		err = b.olderThanLag(ctx, t, l, &s)
	case s.Agreement == billing.Lower:
		s.Detail, err = b.findAbsent(ctx, t, l, p)
	case s.Agreement == billing.Agrees:
		_, err = b.o.Books.NoteAbsent(ctx, l, p, nil, b.o.Now())
	}
	if err != nil {
		return s, err
	}
	if s.Agreement == billing.Lower || s.Agreement == billing.Higher {
		b.o.Logger.Error("the payment processor's total differs from what is on record", "tenant", l.Tenant, "customer", m.CustomerID, "period_start", p.Start,
			"agreement", string(s.Agreement), "ledger", s.Balance.Confirmed, "processor", s.Total, "detail", s.Detail)
	}
	return s, b.o.Books.NoteStanding(ctx, l, s)
}

// takenBackLately calls a period settling whose total is higher by no more than what was taken back a moment ago.
func (b *Biller) takenBackLately(ctx context.Context, l billing.Lane, s *billing.Standing) error {
	_, back, err := b.o.Books.ConfirmedLately(ctx, l, s.Period, b.o.Now().Add(-billing.SummaryLag))
	if err == nil && back < 0 && s.Total-s.Balance.Adding <= s.Balance.Confirmed-back {
		s.Agreement = billing.Settling
	}
	return err
}

// olderThanLag looks at the part of a settling period that ought to have settled. A customer that is billed every hour has always something
// that a summary may not show yet, which must not hide for ever what is missing.
func (b *Biller) olderThanLag(ctx context.Context, t *terms, l billing.Lane, s *billing.Standing) error {
	from, _, err := b.o.Books.ConfirmedLately(ctx, l, s.Period, b.o.Now().Add(-billing.SummaryLag))
	older := billing.Period{Start: s.Period.Start, End: from.Truncate(time.Minute)}
	if err != nil || !older.Start.Before(older.End) {
		return err
	}
	has, err := b.total(ctx, t.processor, l, older)
	if err != nil {
		return err
	}
	balance, err := b.o.Books.Moment(ctx, l, older)
	if err == nil && has.exact && billing.Reconcile(balance, has.tokens, b.o.Now()) == billing.Lower {
		s.Agreement = billing.Lower
		s.Detail, err = b.findAbsent(ctx, t, l, older)
	}
	return err
}

// maxMoments bounds the minutes that one reconciliation of a period looks at.
const maxMoments = 1000

// findAbsent looks for the confirmed events that a period's total lacks, minute by minute, and replaces those that have been
// missing long enough.
func (b *Biller) findAbsent(ctx context.Context, t *terms, l billing.Lane, p billing.Period) (string, error) {
	confirmed, err := b.o.Books.ConfirmedIn(ctx, l, p)
	if err != nil {
		return "", err
	}
	byMinute := map[int64][]billing.Pending{}
	var minutes []int64
	for _, i := range confirmed {
		if m := minuteOf(i); byMinute[m] == nil {
			minutes = append(minutes, m)
		}
		byMinute[minuteOf(i)] = append(byMinute[minuteOf(i)], i)
	}
	slices.Sort(minutes)
	var absent []billing.Pending
	unclear := 0
	for n, m := range minutes {
		if n == maxMoments {
			break
		}
		list := byMinute[m]
		has, err := b.total(ctx, t.processor, l, moment(time.Unix(60*m, 0)))
		if err != nil {
			return "", err
		}
		missing, ok := missingOf(list, has.tokens)
		absent = append(absent, missing...)
		if !ok || !has.exact {
			unclear++
		}
	}
	replaced, err := b.replaceAbsent(ctx, t, l, p, absent)
	return fmt.Sprintf("%d events are missing, %d of them long enough to be sent again as others; %d minutes hold what no event of ours explains", len(absent), replaced, unclear), err
}

// missingOf tells which events of a minute the total lacks: none, all, or the one that explains it. False: nothing does.
func missingOf(list []billing.Pending, total int64) ([]billing.Pending, bool) {
	var sum int64
	for _, i := range list {
		sum += i.Intent.Event.Value
	}
	if total == sum {
		return nil, true
	}
	if total == 0 {
		return list, true
	}
	var found []billing.Pending
	for _, i := range list {
		if total == sum-i.Intent.Event.Value {
			found = append(found, i)
		}
	}
	return found, len(found) == 1
}

// replaceAbsent notes since when each event has been missing, and lets another intent stand for those whose time has come.
func (b *Biller) replaceAbsent(ctx context.Context, t *terms, l billing.Lane, p billing.Period, absent []billing.Pending) (replaced int, err error) {
	since, err := b.o.Books.NoteAbsent(ctx, l, p, seqsOf(absent), b.o.Now())
	if err != nil {
		return 0, err
	}
	for _, i := range absent {
		if at, ok := since[i.Seq]; ok && !b.o.Now().Before(at.Add(billing.AbsentFor)) {
			done, err := b.replace(ctx, &t.Terms, i, billing.ByAbsence)
			if err != nil {
				return replaced, err
			}
			if done {
				replaced++
			}
		}
	}
	return replaced, nil
}
