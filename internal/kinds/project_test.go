package kinds_test

import (
	"reflect"
	"strings"
	"testing"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// What is derived again from a recorded content is what was derived when it was accepted, for every kind.
func TestProjectIsWhatAcceptDerived(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		a := ledgertest.Sample(t, k, 3)
		c, err := ledger.ParseContent(a.Content.Encode())
		if err != nil {
			t.Fatal(err)
		}
		p, err := k.Project(c)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		if p.Key != "" && p.Key != a.Key {
			t.Errorf("%s: the key is derived as %q, it was accepted with %q", k.Name, p.Key, a.Key)
		}
		if !reflect.DeepEqual(p.Claims, a.Claims) {
			t.Errorf("%s: claims %v, accepted with %v", k.Name, p.Claims, a.Claims)
		}
		if !reflect.DeepEqual(p.Rows, a.Rows) {
			t.Errorf("%s: rows %v, accepted with %v", k.Name, p.Rows, a.Rows)
		}
		for _, rows := range a.Rows {
			for _, values := range rows.Values {
				if len(values) != len(rows.Table.Columns) {
					t.Errorf("%s: %d values for the %d columns of %s", k.Name, len(values), len(rows.Table.Columns), rows.Table.Name)
				}
			}
		}
	}
}

func TestProjectRefusesWhatNoKindRecords(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		c := ledger.Content{Artifact: []byte(`{"none":1}`), Context: []byte(`{}`), Receiver: []byte(`{}`)}
		if _, err := k.Project(c); err == nil || !strings.Contains(err.Error(), k.Name) {
			t.Errorf("%s derives from an artifact that it can't have recorded: %v", k.Name, err)
		}
	}
}

// A bundle that nobody vouched for when it came keeps that status, and reserves nothing, whatever is trusted today.
func TestProjectKeepsTheRecordedVerdict(t *testing.T) {
	t.Parallel()
	a := ledgertest.Sample(t, &kinds.ReceiptBundle, 1)
	a, err := kinds.ReceiptBundle.Accept(kinds.Submission{Artifact: a.Content.Artifact}, kinds.Env{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := kinds.ReceiptBundle.Project(a.Content)
	if err != nil || len(p.Claims) != 1 || p.Claims[0].Reserves || !reflect.DeepEqual(p.Rows, a.Rows) {
		t.Errorf("projected %+v, %v; accepted %+v", p, err, a.Rows)
	}
}
