package ledgertest_test

import (
	"testing"

	"ledgerd/assembly"
	"ledgerd/internal/postgres/ledgertest"
)

// The turn that large records are tested with is of the size that a real one would have, and faithful.
func TestWideTurn(t *testing.T) {
	t.Parallel()
	turn := ledgertest.NewWideTurn(t, 1, 16, 64)
	row, whole := ledgertest.JSON(t, turn.Assemblies[0]), ledgertest.JSON(t, turn.Whole(0))
	report, err := assembly.VerifyJSON(whole)
	if err != nil || report.Verdict != assembly.Verified {
		t.Fatalf("%v, %s %v %v", err, report.Verdict, report.Findings, report.Missing)
	}
	derived, _ := report.Derived()
	if len(derived.Contributions) != 16*64 || len(row) < 1<<20 {
		t.Errorf("%d contributions in %d bytes", len(derived.Contributions), len(row))
	}
	t.Logf("%d bytes, %d for a contribution", len(row), len(row)/(16*64))
}
