package assembly

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
)

// change is one change of a whole record of three positions with two contributions each, and the exact verdict.
type change struct {
	rule    Rule
	id      string
	sealed  edit // before the digests and the report are made: a faithful record of something else
	after   edit // afterwards: a record that is not faithful
	anchors Anchors
	// What follows.
	findings []Rule
	missing  []string
	outcome  Word // dictated; success when empty and nothing is missing, "null" for null
	code     Code
	derived  derived
}

// derived are values in the dictated outcome, by JSON pointer.
type derived map[string]any

const (
	row10, row20, row30 = "/positions/2", "/positions/1", "/positions/0" // rows stand backward
	result10, result20  = row10 + "/result/contributions", row20 + "/result/contributions"
	cache30             = row30 + "/cache"
	rule10, rule20      = "/profile/positions/0", "/profile/positions/1"
	rule30              = "/profile/positions/2"
	bind10, bind20      = "/snapshot/positions/0", "/snapshot/positions/1"
)

func changes() []change {
	return slices.Concat(formChanges(), snapshotChanges(), planChanges(), requestChanges(), positionChanges(), reportChanges())
}

func formChanges() []change {
	return []change{
		{rule: R030, id: "snapshot content", after: put("/snapshot/positions/0/trust_posture", "third_party"), findings: []Rule{R210}},
		{rule: R030, id: "plan content", after: put("/plan/plan_id", "plan-2"), findings: []Rule{R302}},
		{rule: R030, id: "profile content", after: put(rule30+"/empty_success", false), findings: []Rule{R118, R240}},
		{rule: R040, id: "turn", sealed: put("/snapshot/turn_id", tenant), findings: []Rule{R040}},
		{rule: R040, id: "tenant", sealed: put("/snapshot/selection_scope/tenant_id", agent), findings: []Rule{R040}},
		{rule: R040, id: "agent", sealed: put("/snapshot/selection_scope/agent_id", tenant), findings: []Rule{R040}},
		{rule: R110, id: "no profile resolves", sealed: all(put("/profile_resolution/candidates/0/active", false), unbound), outcome: Failed, code: ProfileInvalid},
		{rule: R110, id: "nothing resolves and nothing is bound", after: all(put("/profile_resolution/candidates", []any{}), unbound,
			put("/profile", nil), put("/snapshot", nil), put("/plan", nil), put("/report", failedAt(atProfile, ProfileInvalid))), outcome: Failed, code: ProfileInvalid},
		{rule: R115, id: "another content in the ledger", anchors: Anchors{Revisions: []RevisionAnchor{{"prof-7", hashOf("z")}, {"prof-6", hashOf("y")}}}, findings: []Rule{R115}},
		{rule: R118, id: "digest", after: put("/profile_resolution/candidates/0/content_digest", hashOf("z")), findings: []Rule{R118}},
		{rule: R118, id: "revision", after: put("/profile_resolution/candidates/0/profile_revision_id", "prof-8"), findings: []Rule{R118}},
		{rule: R118, id: "no profile", after: put("/profile", nil), findings: []Rule{R118}, missing: []string{"/profile"}},
		{rule: R200, id: "no snapshot", after: put("/snapshot", nil), missing: []string{"/snapshot"}},
		{rule: R300, id: "no plan", after: put("/plan", nil), missing: []string{"/plan"}},
	}
}

// unbound takes what a provider was asked out of every row.
func unbound(t tree) {
	for _, row := range t["positions"].([]any) {
		all(put("/request", nil), put("/attempts", []any{}), put("/result", nil), put("/cache", nil))(row.(tree))
	}
}

func snapshotChanges() []change {
	elsewhere := "c0d1e2f3-0000-4000-8000-000000000009"
	early := time.Date(2026, 11, 30, 9, 0, 1, 0, time.UTC)
	ineligible20 := all(put(bind20+"/axes/ready", "unknown"), put(bind20+"/eligible", false))
	quiet20 := all(put(row20+"/request", nil), put(row20+"/attempts", []any{}), put(row20+"/result", nil))
	quiet10 := all(put(row10+"/request", nil), put(row10+"/attempts", []any{}), put(row10+"/result", nil))
	return []change{
		{rule: R200, id: "order", sealed: func(t tree) { slices.Reverse(get(t, "/snapshot/positions").([]any)) }, findings: []Rule{R200, R240}},
		{rule: R200, id: "one more", sealed: put("/snapshot/positions/-", bindingTree(40)), findings: []Rule{R200}},
		{rule: R200, id: "one missing", sealed: drop("/snapshot/positions/0"), after: put("/report", failedAt(atBind, RequiredUnavailable)), findings: []Rule{R200, R240}, missing: []string{"/snapshot/positions"}},
		{rule: R205, id: "release", sealed: put(bind10+"/provider_release_id", "rel-9"), findings: []Rule{R205}},
		{rule: R210, id: "digest", after: put("/snapshot/snapshot_digest", hashOf("z")), findings: []Rule{R210}},
		{rule: R215, id: "another snapshot of the turn", anchors: Anchors{Snapshots: []SnapshotAnchor{{turn, elsewhere, hashOf("z")}}}, findings: []Rule{R215}},
		{rule: R215, id: "another content of the snapshot", anchors: Anchors{Snapshots: []SnapshotAnchor{{turn, snapshotID, hashOf("z")}}}, findings: []Rule{R215}},
		{rule: R215, id: "another turn", anchors: Anchors{Snapshots: []SnapshotAnchor{{elsewhere, elsewhere, hashOf("z")}}}},
		{rule: R220, id: "revision", sealed: put("/snapshot/profile_revision_id", "prof-8"), findings: []Rule{R220}},
		{rule: R220, id: "scope", sealed: put("/snapshot/selection_scope/deployment_configuration_revision", "dcr-42"), findings: []Rule{R220}},
		{rule: R220, id: "profile policy", sealed: put("/snapshot/policy_revisions/profile", "prof-8"), findings: []Rule{R220, R440}},
		{rule: R240, id: "rule digest", sealed: nil, after: resealed("/snapshot", snapshotDomain, "snapshot_digest", put(bind10+"/rule_digest", hashOf("z"))), findings: []Rule{R240}},
		{rule: R250, id: "flag", sealed: put(bind10+"/eligible", false), findings: []Rule{R250}},
		{rule: R250, id: "required and not eligible", sealed: all(ineligible20, unbound), outcome: Failed, code: RequiredUnavailable},
		{rule: R250, id: "required and not eligible, so that nothing ran", sealed: all(ineligible20, put("/positions", []any{})), outcome: Failed, code: RequiredUnavailable},
		{rule: R250, id: "optional and not eligible", sealed: all(put(bind10+"/axes/capable", no), put(bind10+"/eligible", false), quiet10), outcome: Degraded},
		{rule: R255, id: "degraded", sealed: all(put(bind10+"/axes/healthy", Degraded), put(rule10+"/allow_degraded_bind", true)), outcome: Degraded},
		{rule: R255, id: "degraded where it may not", sealed: all(put(bind10+"/axes/healthy", Degraded), quiet10), findings: []Rule{R255}, outcome: Degraded},
		{rule: R255, id: "degraded at a required position", sealed: all(put(bind20+"/axes/healthy", Degraded), put(rule20+"/allow_degraded_bind", true), put(bind20+"/eligible", false), unbound), outcome: Failed, code: RequiredUnavailable},
		{rule: R255, id: "unknown never counts", sealed: all(put(bind10+"/axes/healthy", unknown), put(rule10+"/allow_degraded_bind", true), put(bind10+"/eligible", false), quiet10), outcome: Degraded},
		{rule: R260, id: "recorded afterwards", sealed: put("/snapshot/recorded_at", clock(0.101)), findings: []Rule{R260}},
		{rule: R260, id: "received afterwards", anchors: Anchors{SnapshotReceivedAt: &early}, findings: []Rule{R260}},
		{rule: R390, id: "asked although binding failed", sealed: all(ineligible20, unbound), after: put(row20+"/attempts", []any{attemptTree()}), findings: []Rule{R390}, outcome: Failed, code: RequiredUnavailable},
		{rule: R465, id: "cancelled before binding failed", sealed: all(ineligible20, unbound, put("/parent/cancelled_at", clock(1))), outcome: Cancelled, code: StrategyCancelled, findings: []Rule{}},
		{rule: R390, id: "asked although binding failed, and cancelled", sealed: all(ineligible20, quiet20, put("/parent/cancelled_at", clock(1))), after: put(row10+"/result", nil), outcome: Cancelled, code: StrategyCancelled, findings: []Rule{R390}},
		{rule: R770, id: "rebuild of nothing", sealed: put("/identity/assembly_kind", rebuildKind), findings: []Rule{R770}},
		{rule: R770, id: "rebuild", sealed: all(put("/identity/assembly_kind", rebuildKind), put("/identity/predecessor_assembly_id", "asm-1")),
			anchors: Anchors{Predecessor: &PredecessorAnchor{"asm-1", snapshotID, true}}},
		{rule: R770, id: "rebuild after what was not to be rebuilt", sealed: all(put("/identity/assembly_kind", rebuildKind), put("/identity/predecessor_assembly_id", "asm-1")),
			anchors: Anchors{Predecessor: &PredecessorAnchor{"asm-1", snapshotID, false}}, findings: []Rule{R770}},
		{rule: R770, id: "another predecessor than it names", sealed: put("/identity/predecessor_assembly_id", "asm-1"),
			anchors: Anchors{Predecessor: &PredecessorAnchor{"asm-2", snapshotID, false}}, findings: []Rule{R770}},
		{rule: R770, id: "rebuild under another snapshot", sealed: all(put("/identity/assembly_kind", rebuildKind), put("/identity/predecessor_assembly_id", "asm-1")),
			anchors: Anchors{Predecessor: &PredecessorAnchor{"asm-1", elsewhere, true}}, findings: []Rule{R770}},
	}
}

func bindingTree(position int) tree {
	b := snapshotTree(1)["positions"].([]any)[0].(tree)
	b["position"] = position
	return b
}

func attemptTree() tree { return rowTree(0, 1)["attempts"].([]any)[0].(tree) }

// resealed makes an edit in a part of a sealed record and gives the part a digest that holds.
func resealed(at, domain, digest string, e edit) edit {
	return func(t tree) {
		e(t)
		value := get(t, at).(tree)
		delete(value, digest)
		value[digest] = digestTwice(domain, value)
	}
}

func TestChanges(t *testing.T) {
	for _, c := range changes() {
		t.Run(string(c.rule)+" "+c.id, func(t *testing.T) { c.check(t) })
	}
}

func (c change) check(t *testing.T) {
	t.Helper()
	var edits []edit
	if c.sealed != nil {
		edits = append(edits, c.sealed)
	}
	whole := record(3, 2, edits...)
	if c.after != nil {
		c.after(whole)
	}
	a, err := Parse(must(json.Marshal(whole)))
	if err != nil {
		t.Fatal(err)
	}
	got := Verify(a, c.anchors)
	want := append([]Rule{}, c.findings...)
	if rules := rulesIn(got.Findings); !slices.Equal(rules, want) || !slices.Equal(got.Missing, append([]string{}, c.missing...)) {
		t.Errorf("findings %v, missing %v; want %v, %v", got.Findings, got.Missing, want, c.missing)
	}
	verdict := verdictOf(got.Findings, got.Missing)
	if got.Verdict != verdict {
		t.Errorf("%s beside %v and %v", got.Verdict, got.Findings, got.Missing)
	}
	if c.missing != nil {
		return
	}
	switch c.outcome {
	case "":
		c.outcome = Success
	case "null":
		c.outcome = ""
	}
	if got.Dictated == nil || *got.Dictated != (Dictated{c.outcome, c.code}) {
		t.Errorf("dictated %+v, want %s %s", got.Dictated, c.outcome, c.code)
	}
	whole = treeOf(*got.derived)
	for at, want := range c.derived {
		if have := get(whole, at); !reflect.DeepEqual(have, clone(want)) {
			t.Errorf("%s is %v, want %v", at, have, want)
		}
	}
	if f, ok := got.Faithful(); ok != (verdict == Verified) || ok && f.Identity().AssemblyID != assemblyID {
		t.Errorf("faithful %v of a record that is %s", ok, verdict)
	}
}
