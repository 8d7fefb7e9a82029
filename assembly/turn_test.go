package assembly

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// sampleTurn is what the ledger's own tests make turns of: a whole record, a compaction and a recovery of one turn. It lies a
// century ahead, so that a ledger that records it now records it before anything in it was invoked (C0-R260, C0-R305).
func sampleTurn() []byte {
	whole := record(3, 1, put(rule10+"/compaction_proposer", proposalOptional))
	later := strings.NewReplacer("2026-11-30", "2126-11-30")
	var t tree
	if err := json.Unmarshal([]byte(later.Replace(string(must(json.Marshal(whole))))), &t); err != nil {
		panic(err)
	}
	seal(t)
	recovery := recoveryRecord()
	all(put("/turn_snapshot_digest", get(t, "/snapshot/snapshot_digest")), put("/recovered_snapshot_digest", get(t, "/snapshot/snapshot_digest")))(recovery)
	for i, position := range []int{0, 1} {
		p := get(recovery, "/positions").([]any)[i].(tree)
		p["requirement"] = [...]Word{optional, required}[i]
		p["binding_id"], p["recovered_binding_id"] = bindingName(position), bindingName(position)
		p["accepted_result_digest"], p["replay_digest"] = hashOf("req-"+strconv.Itoa(position)), hashOf("req-"+strconv.Itoa(position))
	}
	compaction := tree{}
	if err := json.Unmarshal([]byte(later.Replace(string(must(json.Marshal(compactionRecord()))))), &compaction); err != nil {
		panic(err)
	}
	return append(must(json.Marshal(tree{"record": t, "compaction": compaction, "recovery": recovery})), '\n')
}

// TestSampleTurnIsCurrent holds the turn that the ledger's tests record.
func TestSampleTurnIsCurrent(t *testing.T) {
	const path = "../internal/postgres/ledgertest/turn.json"
	want := sampleTurn()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from the fixture (%v): run go test -run TestSampleTurnIsCurrent -update", path, err)
	}
}

func TestRowFacts(t *testing.T) {
	whole := record(3, 2)
	delete(whole, "profile")
	delete(whole, "anchors")
	whole["snapshot"] = tree{"snapshot_id": snapshotID, "snapshot_digest": hashOf("s")}
	whole["plan"] = tree{"plan_id": "plan-1", "plan_digest": hashOf("p")}
	row := must(ParseRow(must(json.Marshal(whole))))
	facts := row.Facts()
	if len(facts) != 6 || facts[0] != (ContributionFact{Ref{10, 0}, "req-0", SourceRef{"work", "board", "wi-0-0"}, private, 25, true}) || facts[5].Tokens != 25 {
		t.Errorf("facts %+v", facts)
	}
	got := row.AcceptedResults()
	if len(got) != 3 || got[10] != hashOf("req-0") || got[30] != get(whole, "/positions/0/cache/stored_result_digest") || row.Rebuilds() {
		t.Errorf("accepted %v, rebuilds %v", got, row.Rebuilds())
	}
}
