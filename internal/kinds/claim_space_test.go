package kinds_test

import (
	"testing"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// The registry says where an entry of a kind may claim a name: a full check relies on it where the content is gone.
func TestClaimsLieInTheirKindsSpace(t *testing.T) {
	t.Parallel()
	claiming := 0
	for _, k := range kinds.All() {
		for _, claim := range ledgertest.Sample(t, k, 1).Claims {
			claiming++
			if claim.Space != k.ClaimSpace {
				t.Errorf("%s claims in %q, and the registry says %q", k.Name, claim.Space, k.ClaimSpace)
			}
		}
	}
	if claiming < 2 {
		t.Errorf("%d samples claim something", claiming)
	}
}
