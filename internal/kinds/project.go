package kinds

import (
	"fmt"

	"ledgerd/ledger"
)

// Projection is what an entry's content gives the tables beside the log: derived from its bytes alone, so that it can be
// derived again.
type Projection struct {
	Key    string // the natural key, "" for kinds without one
	Claims []Claim
	Rows   []Rows
}

// Of are the rows for one table.
func (p Projection) Of(table *Table) (values [][]any) {
	for _, rows := range p.Rows {
		if rows.Table == table {
			values = append(values, rows.Values...)
		}
	}
	return values
}

// Project derives again what was derived when the content was accepted, as Accepted's Key, Claims and Rows hold it. What
// depended on more than the content is taken from what the content records of it (the verdict on a bundle), or not judged
// again (how far a time lay from the receiver's clock). An error says that the kind would never have recorded this content.
func (k *Kind) Project(c ledger.Content) (Projection, error) {
	p, err := k.project(c)
	if err != nil {
		return Projection{}, fmt.Errorf("deriving from a recorded %s: %w", k.Name, err)
	}
	return p, nil
}

// recorded turns a content back into the submission that it was made of.
func recorded(c ledger.Content) Submission {
	return Submission{Artifact: c.Artifact, Context: c.Context}
}
