package ledgertest

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ledgerd/ledger"
)

// turnJSON is a whole assembly record of a turn in the year 2126, a compaction and a recovery. A test of package assembly makes it.
//
//go:embed turn.json
var turnJSON string

// Tree is a JSON object that a test changes.
type Tree = map[string]any

// Turn is one turn as a host would post it: one profile, one snapshot, an initial assembly and two steps of a tool loop with a
// plan each, a compaction and a recovery of the last step. All of it is faithful as long as nothing is changed.
type Turn struct {
	ID                   string
	Profile, Snapshot    Tree
	Plans, Assemblies    []Tree // rows, which name their parts
	Compaction, Recovery Tree
	CompactionContext    Tree
	RecoveryContext      Tree
}

const (
	sampleTurn     = "c0d1e2f3-0000-4000-8000-000000000005"
	sampleAssembly = "c0d1e2f3-0000-4000-8000-000000000006"
	sampleSnapshot = "c0d1e2f3-0000-4000-8000-000000000007"
)

// NewTurn makes turn n.
func NewTurn(tb testing.TB, n int) *Turn {
	tb.Helper()
	t := &Turn{ID: id("5", n)}
	snapshot := ""
	for step, kind := range []string{"initial", "tool_loop_step", "tool_loop_step"} {
		doc := parseTree(tb, strings.NewReplacer(sampleTurn, t.ID, sampleSnapshot, id("7", n), sampleAssembly, t.assemblyID(step, n),
			"plan-1", fmt.Sprintf("plan-%d-%d", n, step), "cop-1", fmt.Sprintf("cop-%d", n)).Replace(turnJSON))
		record := doc["record"].(Tree)
		snapshot = Seal(tb, record["snapshot"].(Tree), "tyrum.c0.binding-snapshot.v1", "snapshot_digest")
		t.Profile, t.Snapshot, t.Compaction, t.Recovery = record["profile"].(Tree), record["snapshot"].(Tree), doc["compaction"].(Tree), doc["recovery"].(Tree)
		identity := record["identity"].(Tree)
		if identity["assembly_kind"] = kind; step > 0 {
			identity["predecessor_assembly_id"] = t.assemblyID(step-1, n)
		}
		plan := record["plan"].(Tree)
		t.Plans = append(t.Plans, plan)
		record["plan"] = Tree{"plan_id": plan["plan_id"], "plan_digest": Seal(tb, plan, "tyrum.c0.assembly-plan.v1", "plan_digest")}
		record["snapshot"] = Tree{"snapshot_id": id("7", n), "snapshot_digest": snapshot}
		delete(record, "profile")
		delete(record, "anchors")
		t.Assemblies = append(t.Assemblies, record)
	}
	t.Recovery["turn_snapshot_digest"], t.Recovery["recovered_snapshot_digest"] = snapshot, snapshot
	t.CompactionContext = Tree{"turn_id": t.ID, "snapshot": Tree{"snapshot_id": id("7", n), "snapshot_digest": snapshot}}
	t.RecoveryContext = Tree{"recovery_id": fmt.Sprintf("rcv-%d", n), "context_assembly_id": t.assemblyID(2, n), "turn_id": t.ID, "snapshot": t.CompactionContext["snapshot"]}
	return t
}

func (t *Turn) assemblyID(step, n int) string { return fmt.Sprintf("asm-%d-%d", n, step) }

// id is a UUID of the sample's, with another end.
func id(last string, n int) string {
	return fmt.Sprintf("c0d1e2f3-0000-4000-8%s00-%012d", last, n)
}

// Seal sets a record's own digest to what the rest of it makes it, and returns it.
func Seal(tb testing.TB, v Tree, domain, member string) string {
	tb.Helper()
	delete(v, member)
	canonical, err := ledger.CanonicalizeChecked(JSON(tb, v))
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	sum := sha256.Sum256(append([]byte(domain+"\x00"), canonical...))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	v[member] = digest
	return digest
}

// JSON encodes a value.
func JSON(tb testing.TB, v any) []byte {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return raw
}

func parseTree(tb testing.TB, src string) (t Tree) {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(src)))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return t
}
