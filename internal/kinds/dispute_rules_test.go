package kinds_test

import (
	"bytes"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// A dispute that does not say by which rules it was decided is of the first; one that says nothing by saying it is refused.
func TestDisputeNamesItsRules(t *testing.T) {
	t.Parallel()
	c := ledgertest.Sample(t, &kinds.Dispute, 1).Content
	if bytes.Contains(c.Artifact, []byte(`"rules"`)) {
		t.Fatal("the sample says it")
	}
	with := func(rules string) (kinds.DisputeArtifact, error) {
		artifact := c.Artifact
		if rules != "" {
			artifact = append([]byte(`{"rules":`+rules+`,`), artifact[1:]...)
		}
		a, err := kinds.Dispute.Accept(kinds.Submission{Artifact: artifact}, kinds.Env{Now: time.Now()})
		if err != nil {
			return kinds.DisputeArtifact{}, err
		}
		return kinds.ReadDispute(ledger.Entry{Content: a.Content.Encode()})
	}
	for rules, want := range map[string]string{"": kinds.FirstDisputeRules, `"dispute.rules.v9"`: "dispute.rules.v9"} {
		if a, err := with(rules); err != nil || a.Rules != want {
			t.Errorf("%s: %q, %v", rules, a.Rules, err)
		}
	}
	for _, rules := range []string{`""`, `1`, `null`} {
		if _, err := with(rules); err == nil {
			t.Errorf("%s: %v", rules, err)
		}
	}
}
