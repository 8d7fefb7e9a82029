package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"

	"ledgerd/metering"
)

// Sums is the truth that a projection is compared with.
type Sums interface {
	// ShippedSums sums up what the projection must hold of entries below a seq, without the entries in except.
	ShippedSums(ctx context.Context) (sums []metering.DaySum, below int64, except []int64, err error)
	// DayLines reads a day's lines by whole entries.
	DayLines(ctx context.Context, tenant string, day time.Time, from, below int64, limit int) ([]metering.Line, error)
	// BeginRepair notes, before anything is destroyed, that the projection may be short until NoteReconciled of no drift.
	BeginRepair(ctx context.Context) error
	NoteReconciled(ctx context.Context, drifted int) error
}

// Repairable is a projection that can be compared and mended.
type Repairable interface {
	Projection
	Days(ctx context.Context, below int64, except []int64) ([]metering.DaySum, error)
	DeleteDay(ctx context.Context, day metering.DaySum, below int64) error
}

// Drift is a tenant's UTC day of which truth and projection hold different lines.
type Drift struct {
	Truth     metering.DaySum
	Projected metering.DaySum
	Repaired  bool
}

// Reconcile compares the two day by day, count, token sum and hash, and with repair sends each day that differs again.
func Reconcile(ctx context.Context, truth Sums, p Repairable, rejects func(error) bool, repair bool) ([]Drift, error) {
	drifts, below, err := compare(ctx, truth, p)
	if err != nil {
		return nil, err
	}
	left := len(drifts)
	if !repair || left == 0 {
		return drifts, truth.NoteReconciled(ctx, left)
	}
	if err := truth.BeginRepair(ctx); err != nil {
		return drifts, err
	}
	for i := range drifts {
		if err := mend(ctx, truth, p, rejects, drifts[i].Truth, below); err != nil {
			return drifts, errors.Join(err, truth.NoteReconciled(ctx, left))
		}
		drifts[i].Repaired = true
		left--
	}
	return drifts, truth.NoteReconciled(ctx, left)
}

func compare(ctx context.Context, truth Sums, p Repairable) ([]Drift, int64, error) {
	want, below, except, err := truth.ShippedSums(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("summing up the log: %w", err)
	}
	have, err := p.Days(ctx, below, except)
	if err != nil {
		return nil, 0, fmt.Errorf("summing up the projection: %w", err)
	}
	type key struct {
		tenant string
		day    int64
	}
	held := map[key]metering.DaySum{}
	for _, d := range have {
		held[key{d.Tenant, d.Day.Unix()}] = d
	}
	var drifts []Drift
	for _, w := range want {
		k := key{w.Tenant, w.Day.Unix()}
		h, ok := held[k]
		delete(held, k)
		if !ok {
			h = nothing(w)
		}
		if !w.Equal(h) {
			drifts = append(drifts, Drift{Truth: w, Projected: h})
		}
	}
	for _, h := range have { // in order
		if _, surplus := held[key{h.Tenant, h.Day.Unix()}]; surplus {
			drifts = append(drifts, Drift{Truth: nothing(h), Projected: h})
		}
	}
	return drifts, below, nil
}

// mend destroys a day in the projection and sends it again, under tokens that no block has had.
func mend(ctx context.Context, truth Sums, p Repairable, rejects func(error) bool, day metering.DaySum, below int64) error {
	if err := p.DeleteDay(ctx, day, below); err != nil {
		return err
	}
	name := "repair:" + rand.Text() + ":"
	for from := int64(0); ; {
		lines, err := truth.DayLines(ctx, day.Tenant, day.Day, from, below, defaultLines)
		if err != nil || len(lines) == 0 {
			return err
		}
		// What is refused now is in quarantine already, or shows as drift again.
		if _, err := insert(ctx, p, rejects, name, lines); err != nil {
			return err
		}
		from = lines[len(lines)-1].Seq + 1
	}
}

// nothing is the sum of no lines on a day.
func nothing(of metering.DaySum) metering.DaySum {
	return metering.DaySum{Tenant: of.Tenant, Day: of.Day, Tokens: new(big.Int)}
}
