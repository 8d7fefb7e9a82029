package assembly

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

func asRecordError(err error, target **RecordError) bool { return errors.As(err, target) }

// compactionRecord is a compaction operation as stored, with its dictated outcome.
func compactionRecord() tree { return operationRecord("compaction", CompactionVersion) }

func recoveryRecord() tree { return operationRecord("recovery", RecoveryVersion) }

func operationRecord(kind, version string) tree {
	input := treeOf(baseInput(kind))
	r := must(VerifyStage(kind, must(json.Marshal(input)), []byte("{}")))
	input["record_version"], input["report"] = version, treeOf(r.Derived)
	return input
}

// turnOf is what a ledger has of the fixture's turn.
func turnOf(edits ...edit) Turn {
	whole := record(3, 2, edits...)
	return Turn{
		Snapshot: must(ParseSnapshot(must(json.Marshal(whole["snapshot"])))),
		Profile:  must(ParseProfile(must(json.Marshal(whole["profile"])))),
		Accepted: map[int64]string{10: hashOf("r"), 20: hashOf("r")},
	}
}

func TestCompactionAgainstItsTurn(t *testing.T) {
	designated := put(rule10+"/compaction_proposer", proposalOptional)
	for _, tt := range []struct {
		id       string
		turn     Turn
		e        edit
		findings []Rule
	}{
		{"alone", Turn{}, all(), nil},
		{"with its turn", turnOf(designated), all(), nil},
		{"nobody is designated", turnOf(), all(), []Rule{R800}},
		{"another position is", turnOf(put(rule20+"/compaction_proposer", proposalOptional)), all(), []Rule{R800}},
		{"another revision is pinned", turnOf(designated), all(put("/operation/pinned_profile_revision_id", "prof-8"), put("/operation/profile_revision_id", "prof-8")), []Rule{R805}},
		{"another outcome", turnOf(designated), put("/report/action", "commit_fallback"), []Rule{R845}},
	} {
		whole := compactionRecord()
		tt.e(whole)
		c := must(ParseCompaction(must(json.Marshal(whole))))
		got := VerifyCompaction(c, tt.turn)
		if rules := rulesIn(got.Findings); !slices.Equal(rules, append([]Rule{}, tt.findings...)) || got.Verdict != verdictOf(got.Findings, nil) {
			t.Errorf("%s: %s %v", tt.id, got.Verdict, got.Findings)
		}
		if f, ok := got.Faithful(); ok != (len(tt.findings) == 0) || ok && !f.Outcome().StateAdvanced {
			t.Errorf("%s: faithful is %v", tt.id, ok)
		}
		if c.OperationID() != "cop-1" || c.PinnedRevisionID() == "" || got.Outcome.Action != "commit_proposal" {
			t.Errorf("%s: %+v", tt.id, got.Outcome)
		}
	}
}

func TestRecoveryAgainstItsTurn(t *testing.T) {
	turn := turnOf()
	own := all(put("/positions/0/requirement", optional), put("/positions/1/requirement", required), put("/turn_snapshot_digest", turn.Snapshot.Digest()), put("/recovered_snapshot_digest", turn.Snapshot.Digest()),
		put("/positions/0/binding_id", "bind-000"), put("/positions/1/binding_id", "bind-001"),
		put("/positions/0/recovered_binding_id", "bind-000"), put("/positions/1/recovered_binding_id", "bind-001"))
	for _, tt := range []struct {
		id       string
		turn     Turn
		e        edit
		findings []Rule
	}{
		{"alone", Turn{}, all(), nil},
		{"with its turn", turn, own, nil},
		{"another snapshot", turn, all(own, put("/turn_snapshot_id", "snap-9"), put("/recovered_snapshot_id", "snap-9")), []Rule{R900}},
		{"another binding", turn, all(own, put("/positions/0/binding_id", "bind-9"), put("/positions/0/recovered_binding_id", nil)), []Rule{R910}},
		{"a result that was not accepted", turn, all(own, put("/positions/0/accepted_result_digest", hashOf("z")), put("/positions/0/replay_digest", hashOf("z"))), []Rule{R920}},
		{"a required position that is called optional", turn, all(own, put("/positions/1/requirement", optional)), []Rule{R930}},
		{"a required position that is left out", turn, all(own, drop("/positions/1"), drop("/report/positions/1")), []Rule{R930}},
		{"an optional position that is left out", turn, all(own, drop("/positions/0"), drop("/report/positions/0")), nil},
		{"another route", turn, all(own, put("/report/positions/0/route", "repeat")), []Rule{R920}},
	} {
		whole := recoveryRecord()
		tt.e(whole)
		got := VerifyRecovery(must(ParseRecovery(must(json.Marshal(whole)))), tt.turn)
		if rules := rulesIn(got.Findings); !slices.Equal(rules, append([]Rule{}, tt.findings...)) {
			t.Errorf("%s: %s %v", tt.id, got.Verdict, got.Findings)
		}
		if f, ok := got.Faithful(); ok != (len(tt.findings) == 0) || ok && !f.Outcome().Conformant {
			t.Errorf("%s: faithful is %v", tt.id, ok)
		}
	}
}

// TestRowJoins: a row becomes the record that it was taken from, and only with the parts that it names.
func TestRowJoins(t *testing.T) {
	whole := record(3, 2)
	turn := turnOf()
	plan := must(ParsePlan(must(json.Marshal(whole["plan"]))))
	row := treeOf(whole)
	for _, name := range []string{"profile", "anchors"} {
		delete(row, name)
	}
	row["snapshot"] = tree{"snapshot_id": snapshotID, "snapshot_digest": turn.Snapshot.Digest()}
	row["plan"] = tree{"plan_id": "plan-1", "plan_digest": plan.Digest()}
	r := must(ParseRow(must(json.Marshal(row))))
	if revision, digest, ok := r.ActiveProfile(); !ok || revision != turn.Profile.RevisionID() || digest != turn.Profile.Digest() {
		t.Errorf("active profile %s %s %v", revision, digest, ok)
	}
	if id, _ := r.Snapshot(); id != turn.Snapshot.ID() || r.Identity().TurnID != turn.Snapshot.TurnID() || turn.Snapshot.ProfileRevisionID() != "prof-7" {
		t.Errorf("snapshot %s", id)
	}
	if id, _ := r.Plan(); id != plan.ID() || plan.AssemblyID() != assemblyID || plan.SnapshotID() != snapshotID || r.Recorded().Outcome != Success {
		t.Errorf("plan %s", id)
	}
	joined := must(r.Join(turn.Profile, turn.Snapshot, plan))
	if got := Verify(joined, Anchors{Snapshots: []SnapshotAnchor{}}); got.Verdict != Verified {
		t.Errorf("%s %v", got.Verdict, got.Findings)
	}
	other := turnOf(put("/snapshot/created_at", "2026-11-30T08:59:59Z"))
	for _, parts := range []Turn{{}, {Snapshot: other.Snapshot}} {
		if _, err := r.Join(turn.Profile, parts.Snapshot, plan); !errors.Is(err, ErrJoin) {
			t.Errorf("another snapshot joined: %v", err)
		}
	}
}
