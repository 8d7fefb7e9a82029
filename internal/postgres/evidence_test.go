package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// What disputes name is not gathered without end: of many large ones there is no one file.
func TestEvidenceOfWhatNamesTooMuch(t *testing.T) {
	t.Parallel()
	const each = 60_000
	l := ledgertest.New(t)
	for first := int64(0); first <= 2*evidence.MaxEntries; first += each {
		a, err := kinds.ReadDispute(entryOf(ledgertest.Sample(t, &kinds.Dispute, int(first))))
		if err != nil {
			t.Fatal(err)
		}
		a.DisputeID, a.Entries.Reports = fmt.Sprint("dsp_", first), make([]int64, each)
		for i := range a.Entries.Reports {
			a.Entries.Reports[i] = first + int64(i)
		}
		accepted, err := kinds.NewDispute(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Appender.Append(t.Context(), disputant, accepted); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(q kinds.EntryQuery) error {
		s := evidence.Subject{Title: "Evidence", Tenant: ledgertest.Tenant, Question: []evidence.Field{}, Statements: []evidence.Field{}}
		w := evidence.NewWriter(io.Discard, s, nil, l.Keys.EvidenceSigners()...)
		return l.Store.Evidence(t.Context(), ledgertest.Tenant, kinds.Visibility{All: true}, evidence.Selection{Entries: &q}, w)
	}
	if err := ask(kinds.EntryQuery{Key: "dsp_0"}); err != nil {
		t.Errorf("one of them: %v", err)
	}
	if err := ask(kinds.EntryQuery{}); !errors.Is(err, kinds.ErrTooMuch) {
		t.Errorf("all of them: %v", err)
	}
}

// entryOf is an entry with the content of what was accepted.
func entryOf(a *kinds.Accepted) ledger.Entry { return ledger.Entry{Content: a.Content.Encode()} }
