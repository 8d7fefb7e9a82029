package assembly

import "slices"

// samples are our own stage cases, with outcomes that were worked out by hand.
func samples() []sample {
	return slices.Concat(profileSamples(), budgetSamples(), conductSamples(), resultSamples(), assessmentSamples(), cacheSamples(),
		failureSamples(), mergeSamples(), finalSamples(), compactionSamples(), recoverySamples(), contentSamples(), edgeSamples())
}

const (
	lookupAt    = "/resolution/lookup_key"
	candidateAt = "/resolution/candidates"
	first       = "/profile/positions/0"
	second      = "/profile/positions/1"
)

func profileSamples() []sample {
	invalid := func(rule Rule, id, why string, edits edit, more ...Rule) sample {
		reasons := string(must(jsonOf(append([]Rule{rule}, more...))))
		return sample{rule: rule, id: id, kind: "profile", why: why, edits: edits, derived: `{"code":"context_profile_invalid","reasons":` + reasons + `}`}
	}
	other := func(revision, digest, origin string, active bool) tree {
		return tree{"profile_revision_id": revision, "content_digest": digest, "origin": origin, "active": active}
	}
	entry := func(from, to tree) tree { return tree{"from": from, "to": to} }
	a, b, c := sourcePair("work", "a"), sourcePair("work", "b"), sourcePair("work", "c")
	return []sample{
		{rule: R110, id: "valid", kind: "profile", why: "One active revision and three sound positions.", derived: `{"code":null,"reasons":[]}`},
		{rule: R110, id: "recorded-valid", kind: "profile", why: "The record calls a profile valid that nothing is active of.",
			edits: put(candidateAt+"/0/active", false), derived: `{"code":"context_profile_invalid","reasons":["C0-R110"]}`, recorded: `{"code":null}`, findings: []Rule{R110}},
		invalid(R100, "other-tenant", "The lookup key has another tenant than the assembly.", put(lookupAt+"/tenant_id", agent)),
		invalid(R100, "other-kind", "The lookup key is of another provider kind.", put(lookupAt+"/provider_kind_id", "tyrum.provider.memory")),
		invalid(R110, "none-active", "No revision is active.", put(candidateAt+"/0/active", false)),
		invalid(R115, "two-contents", "One revision id has two content digests.", put(candidateAt+"/-", other("prof-7", hashOf("b"), "explicit", false))),
		invalid(R110, "explicit-and-compatibility", "An explicit and a compatibility revision are both active.",
			put(candidateAt+"/-", other("prof-8", hashOf("b"), "compatibility", true)), R120),
		invalid(R120, "no-compatibility-beside", "The same, under the rule that forbids exactly this.",
			all(put(candidateAt+"/0/active", true), put(candidateAt+"/-", other("prof-8", hashOf("b"), "compatibility", true)))).with(R110, R120),
		invalid(R130, "position-zero", "Positions begin at 1.", put(first+"/position", 0)),
		invalid(R130, "position-twice", "Two rules use one position, although one is disabled.", all(put(second+"/position", 10), put(first+"/enabled", false))),
		invalid(R135, "two-implementations", "An enabled position names two releases.",
			put(first+"/implementations/-", tree{"implementation_id": "i", "implementation_version": "1", "provider_release_id": "r"})),
		invalid(R135, "no-implementation", "An enabled position names none.", put(first+"/implementations", []any{})),
		invalid(R140, "two-proposers", "Two enabled positions are compaction proposer.", all(put(first+"/compaction_proposer", proposalOptional), put(second+"/compaction_proposer", proposalRequired))),
		invalid(R145, "minimum-above-cap", "A required minimum exceeds its cap in tokens only.", put(second+"/minimum/tokens", 121)),
		invalid(R150, "chain", "A pair is the target of one equivalence and the source of another.", put("/profile/equivalence_mapping/entries", []any{entry(a, b), entry(b, c)})),
		invalid(R150, "source-twice", "One pair has two equivalents.", put("/profile/equivalence_mapping/entries", []any{entry(a, b), entry(a, c)})),
		invalid(R155, "slot", "A slot is not of v1.", put(first+"/target_slots/0", "system_prompt")),
		invalid(R155, "ceiling", "A ceiling is reserved authority.", put(first+"/authority_ceiling", "kernel_instruction")),
		invalid(R155, "class-ceiling", "A source class has a reserved ceiling.", put("/profile/source_classes/web/authority_ceiling", "user_request")),
		invalid(R155, "optional-rule", "A required position has an optional rule.", put(second+"/optional_rule", tree{"on_failure": attributedSkip, "on_stale": skipRule})),
	}
}

// with replaces the reasons of a sample.
func (s sample) with(rules ...Rule) sample {
	s.derived = `{"code":"context_profile_invalid","reasons":` + string(must(jsonOf(rules))) + `}`
	return s
}

const allocated = `"code":null,"stage":"allocated","ceiling":{"items":10,"bytes":1900,"tokens":580},"pool":{"items":10,"bytes":1000,"tokens":400},
	"required_reserve":{"items":1,"bytes":300,"tokens":200}`

func budgetSamples() []sample {
	row := func(position, items, bytes, tokens, perItem int, skip bool) string {
		return string(must(jsonOf(tree{"position": position, "items": items, "bytes": bytes, "tokens": tokens, "per_item_bytes": perItem, "skip": skip})))
	}
	p10, p20, p30 := row(10, 4, 500, 200, 200, false), row(20, 3, 500, 200, 500, false), row(30, 3, 0, 0, 0, true)
	rows := func(list ...string) string {
		s := `"allocations":[`
		for i, r := range list {
			s += []string{"", ","}[min(i, 1)] + r
		}
		return s + "]"
	}
	want := "{" + allocated + "," + rows(p10, p20, p30) + "}"
	wrong := func(rule Rule, id, why, recorded string, findings ...Rule) sample {
		return sample{rule: rule, id: id, kind: "budget", why: why, derived: want, recorded: "{" + recorded + "}", findings: findings}
	}
	return []sample{
		{rule: R360, id: "in-order", kind: "budget", why: "Each dimension on its own, in order, up to the cap.", derived: want},
		wrong(R310, "ceiling", "The record used the greater of two limits.", `"ceiling":{"items":10,"bytes":1900,"tokens":900}`, R310),
		wrong(R330, "pool", "The record took the reserves off the tokens only.", `"pool":{"items":10,"bytes":1900,"tokens":400}`, R330),
		wrong(R340, "reserve", "The record reserved the optional positions' minimums too.", `"required_reserve":{"items":2,"bytes":300,"tokens":200}`, R340),
		wrong(R350, "starved", "The optional position took what was reserved for the required one.", rows(row(10, 4, 500, 300, 200, false), row(20, 3, 500, 100, 500, false), p30), R360),
		wrong(R370, "no-skip", "A position without a token was to be invoked.", rows(p10, p20, row(30, 3, 0, 0, 0, false)), R360),
		wrong(R380, "redistributed", "The items of a skipped position went back to an earlier one.", rows(row(10, 4, 500, 200, 200, false), row(20, 6, 500, 200, 500, false), row(30, 0, 0, 0, 0, true)), R360),
		wrong(R385, "per-item", "The bound of an item exceeds what the position has in all.", rows(p10, row(20, 3, 500, 200, 900, false), p30), R360),
		{rule: R330, id: "reserves-too-large", kind: "budget", why: "The reserves need more bytes than policy allows.", edits: put("/policy_ceiling/bytes", 899),
			derived: `{"code":"context_budget_unavailable","stage":"kernel_reserve","required_reserve":null,"allocations":[],"pool":{"items":10,"bytes":-1,"tokens":400}}`},
		{rule: R340, id: "minimums-too-large", kind: "budget", why: "A required minimum needs more items than the pool has.", edits: put("/policy_ceiling/items", 0),
			derived: `{"code":"context_budget_unavailable","stage":"required_reserve","allocations":[],"required_reserve":{"items":1,"bytes":300,"tokens":200}}`},
		{rule: R370, id: "required-never-skips", kind: "budget", why: "A required position with a zero minimum is invoked with nothing left.",
			edits:   all(put("/positions/2/requirement", required), put("/positions/0/cap/tokens", 300)),
			derived: "{" + allocated + "," + rows(p10, p20, row(30, 3, 0, 0, 0, false)) + "}"},
	}
}
