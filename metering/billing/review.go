package billing

import (
	"cmp"
	"math/big"
	"slices"
	"time"
)

// WaitingSum sums up lines that wait for one reason in one window.
type WaitingSum struct {
	Reason Reason
	Window Period
	Lines  int
	Tokens *big.Int
}

// SumWaiting sums up by window and reason, in that order. Windows are those of the mapping's billing periods; for an unmapped
// customer, with the zero Mapping, hours or days that no period cuts.
func SumWaiting(c Config, m Mapping, list []Waiting) []WaitingSum {
	type key struct {
		start  time.Time
		reason Reason
	}
	sums := map[key]*WaitingSum{}
	for _, w := range list {
		window := c.WindowAt(m.BillingAnchor, w.AsOf)
		k := key{window.Start, w.Reason}
		if sums[k] == nil {
			sums[k] = &WaitingSum{Reason: w.Reason, Window: window, Tokens: new(big.Int)}
		}
		sums[k].Lines++
		sums[k].Tokens.Add(sums[k].Tokens, big.NewInt(w.Tokens))
	}
	out := make([]WaitingSum, 0, len(sums))
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b WaitingSum) int {
		return cmp.Or(a.Window.Start.Compare(b.Window.Start), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// UnmappedUsage is what nobody is billed for: unclaimed usage of a customer that the configuration does not map.
type UnmappedUsage struct {
	CustomerID string
	Lines      int64
	Tokens     *big.Int
	Oldest     time.Time // as_of
}

// TakenBack is a line of a correction that takes tokens back, and the intent that tells of it.
type TakenBack struct {
	Line
	Corrects int64   // seq of what is corrected
	Intent   *Intent // nil while nothing claims the line
	IntentAt int64   // seq of the intent
}

// CreditNote is a correction that touches a final invoice: the invoice stays as it is, so whoever keeps the accounts must see
// whether a credit note is due. What an intent took back in a later period must not be credited again.
type CreditNote struct {
	Correction int64 // seq
	Corrects   int64 // seq
	ProviderID string
	AsOf       time.Time
	Invoice    Period // the billing period of the usage
	Tokens     int64  // less than 0
	TakenBack  int64  // seq of the intent that took them back in a later period; 0 while none did
	In         Period // that period
}

// CreditNotes are the lines that touch a final invoice, in the order given: carried into a later period, or unclaimed although their own is
// final. Usage before the configured start was never on an invoice.
func CreditNotes(c Config, m Mapping, list []TakenBack, now time.Time) []CreditNote {
	var notes []CreditNote
	for _, t := range list {
		n := CreditNote{Correction: t.Seq, Corrects: t.Corrects, ProviderID: t.ProviderID, AsOf: t.AsOf, Invoice: PeriodAt(m.BillingAnchor, t.AsOf), Tokens: t.Tokens}
		switch {
		case t.Tokens >= 0 || t.AsOf.Before(c.Start) || !c.Counts(t.ProviderID):
			continue
		case t.Intent != nil && t.Intent.Carried():
			n.TakenBack, n.In = t.IntentAt, t.Intent.Period
		case t.Intent != nil || !c.Final(n.Invoice, now):
			continue
		}
		notes = append(notes, n)
	}
	return notes
}
