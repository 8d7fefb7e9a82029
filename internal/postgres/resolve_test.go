package postgres

import (
	"testing"
	"time"

	"ledgerd/internal/kinds"
)

// After an unknown outcome a submission may find itself, which is its first answer, or the same one that another process
// recorded in between, which is a replay: the salts tell them apart, however often either was tried.
func TestReplayKnowsItsOwnEntry(t *testing.T) {
	t.Parallel()
	mine, twin := consentPending(t), consentPending(t)
	for name, c := range map[string]struct {
		stored   pending
		replayed bool
	}{"its own": {mine, false}, "a twin's": {twin, true}} {
		e := c.stored.prepared.Seal("test.example/log", 7, time.Now())
		r, err := mine.replay(knownEntry{recorded: kinds.Recorded{Seq: 7}, salt: e.MetaSalt[:], content: e.Content})
		if err != nil || r.Seq != 7 || r.Replayed != c.replayed {
			t.Errorf("%s: %+v, %v; want replayed %v", name, r, err, c.replayed)
		}
	}
}

// consentPending is a submission with a key, always the same but for its salts.
func consentPending(t *testing.T) pending {
	t.Helper()
	artifact := `{"provider_id":"p","scope":"third-party-model","provider_name":"N","provider_version":"1",` +
		`"grantor":{"kind":"human","id":"maria@example"},"granted_at":"2026-01-10T08:00:00Z"}`
	acc, err := kinds.ConsentReceipt.Accept(kinds.Submission{Artifact: []byte(artifact), Key: "k"}, kinds.Env{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPending(kinds.Poster{Tenant: "acme", Role: kinds.Host, TokenID: "tok"}, acc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
