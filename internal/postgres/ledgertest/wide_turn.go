package ledgertest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"testing"

	"ledgerd/assembly"
	"ledgerd/ledger"
)

// NewWideTurn makes turn n with one assembly of many positions and contributions, every second position required. The names are
// as long as real ones are: ids are UUIDs, revisions are digests. It is faithful.
func NewWideTurn(tb testing.TB, n, positions, contributions int) *Turn {
	tb.Helper()
	t := NewTurn(tb, n)
	w := wide{tb: tb, turn: t, plan: t.Plans[0], row: t.Assemblies[0], contributions: contributions}
	t.Plans, t.Assemblies = t.Plans[:1], t.Assemblies[:1]
	t.Profile["profile_revision_id"] = fmt.Sprintf("profile-revision-wide-%d", n)
	t.Snapshot["profile_revision_id"] = t.Profile["profile_revision_id"]
	t.Snapshot["policy_revisions"].(Tree)["profile"] = t.Profile["profile_revision_id"]
	w.widen(positions)
	w.seal()
	return t
}

type wide struct {
	tb            testing.TB
	turn          *Turn
	plan, row     Tree
	contributions int
}

// widen makes positions of the first two, which ask a provider.
func (w *wide) widen(positions int) {
	rules, bindings, planned, rows := list(w.turn.Profile, "positions"), list(w.turn.Snapshot, "positions"), list(w.plan, "positions"), list(w.row, "positions")
	rows = []any{rows[2], rows[1]} // they stand backward
	of := func(kept []any, wide func(Tree, int)) []any {
		all := make([]any, positions)
		for i := range all {
			v := w.named(kept[i%2], i)
			v["position"] = i + 1
			wide(v, i)
			all[i] = v
		}
		return all
	}
	m := w.contributions
	w.turn.Profile["positions"] = of(rules, func(v Tree, _ int) {
		v["cap"] = Tree{"items": m, "bytes": 200 * m, "tokens": 60 * m, "per_item_bytes": 150}
		v["compaction_proposer"] = nil
	})
	w.turn.Snapshot["positions"] = of(bindings, func(Tree, int) {})
	w.plan["positions"] = of(planned, func(Tree, int) {})
	w.row["positions"] = of(rows, w.fill)
	budget := w.plan["budget"].(Tree)
	budget["model_candidates"].([]any)[0].(Tree)["input_limit_tokens"] = 1000 + 60*m*positions
	budget["policy_ceiling"] = Tree{"items": m * positions, "bytes": 4000 + 200*m*positions, "tokens": nil}
}

// named is a copy of one of the first two positions' parts under the names of position i.
func (w *wide) named(part any, i int) Tree {
	k := i % 2
	return parseTree(w.tb, strings.NewReplacer(
		fmt.Sprintf(`"bind-%03d"`, k), fmt.Sprintf(`"binding/0f2b7c1a-5d3e-4c6f-9a8b-%012d"`, i), fmt.Sprintf(`"impl-%d"`, k), fmt.Sprintf(`"tyrum.strategy.implementation-%d"`, i),
		fmt.Sprintf(`"rel-%d"`, k), fmt.Sprintf(`"release/2026.11.%d"`, i), fmt.Sprintf(`"req-%d"`, k), fmt.Sprintf(`"7e41d0b2-93c5-4a17-8d66-%012d"`, i),
	).Replace(string(JSON(w.tb, part))))
}

// fill gives a row its contributions.
func (w *wide) fill(row Tree, i int) {
	row["request"].(Tree)["position"] = i + 1
	result := row["result"].(Tree)
	first := list(result, "contributions")[0].(Tree)
	all := make([]any, w.contributions)
	for j := range all {
		c := maps.Clone(first)
		source := maps.Clone(c["source"].(Tree))
		source["stable_ref"] = fmt.Sprintf("workspace/board/items/2026/%04d-%04d", i, j)
		digest := assembly.PayloadDigest("text", fmt.Append(nil, i, "/", j))
		c["context_contribution_id"], c["ordinal"] = fmt.Sprintf("b1946ac9-2492-4d23-8%03d-%012d", i, j), j
		c["payload_digest"], c["kernel_payload_digest"], c["source"] = digest, digest, source
		c["source_revision"] = Tree{"kind": "digest", "value": digest}
		all[j] = c
	}
	result["contributions"] = all
	envelope := result["envelope"].(Tree)
	envelope["item_count"], envelope["byte_count"] = len(all), 100*len(all)
}

// seal sets digests, bounds and the dictated report, each after what it is made of.
func (w *wide) seal() {
	for i, rule := range list(w.turn.Profile, "positions") {
		list(w.turn.Snapshot, "positions")[i].(Tree)["rule_digest"] = w.digest("tyrum.c0.position-rule.v1", rule)
	}
	candidate := list(w.row["profile_resolution"].(Tree), "candidates")[0].(Tree)
	candidate["profile_revision_id"] = w.turn.Profile["profile_revision_id"]
	candidate["content_digest"] = w.digest("tyrum.c0.profile.v1", w.turn.Profile)
	w.row["snapshot"].(Tree)["snapshot_digest"] = Seal(w.tb, w.turn.Snapshot, "tyrum.c0.binding-snapshot.v1", "snapshot_digest")
	w.row["plan"].(Tree)["plan_digest"] = Seal(w.tb, w.plan, "tyrum.c0.assembly-plan.v1", "plan_digest")
	bound := map[string]any{}
	for _, a := range list(w.derive(), "allocations") {
		a := a.(Tree)
		bound[fmt.Sprint(a["position"])] = Tree{"items": a["items"], "bytes": a["bytes"], "tokens": a["tokens"], "per_item_bytes": a["per_item_bytes"]}
	}
	for i, row := range list(w.row, "positions") {
		row, rule := row.(Tree), list(w.turn.Profile, "positions")[i].(Tree)
		request := row["request"].(Tree)
		request["bounds"], request["policy_revisions"] = bound[fmt.Sprint(i+1)], w.turn.Snapshot["policy_revisions"]
		request["output_contract_digest"] = w.digest("tyrum.c0.output-contract.v1", Tree{
			"admitted_sources": rule["admitted_sources"], "authority_ceiling": rule["authority_ceiling"], "bounds": request["bounds"],
			"sensitivities": rule["sensitivities"], "target_slots": rule["target_slots"],
		})
		for _, a := range list(row, "attempts") {
			a.(Tree)["output_contract_digest"] = request["output_contract_digest"]
		}
	}
	w.row["report"] = w.derive()
}

// derive is the outcome that the contract dictates.
func (w *wide) derive() Tree {
	input := w.turn.Whole(0)
	delete(input, "report")
	r, err := assembly.VerifyStage("assembly", JSON(w.tb, input), []byte(`{}`))
	if err != nil || r.Derived == nil {
		w.tb.Fatalf("ledgertest: a wide turn derives nothing: %v %v", err, r.Missing)
	}
	return parseTree(w.tb, string(JSON(w.tb, r.Derived)))
}

func (w *wide) digest(domain string, v any) string {
	canonical, err := ledger.CanonicalizeChecked(JSON(w.tb, v))
	if err != nil {
		w.tb.Fatalf("ledgertest: %v", err)
	}
	sum := sha256.Sum256(append([]byte(domain+"\x00"), canonical...))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func list(v Tree, name string) []any { return v[name].([]any) }

// Whole is a recorded assembly as one document, its parts in it and no anchors.
func (t *Turn) Whole(i int) Tree {
	whole := maps.Clone(t.Assemblies[i])
	whole["profile"], whole["snapshot"], whole["plan"], whole["anchors"] = t.Profile, t.Snapshot, t.Plans[i], []any{}
	return whole
}
