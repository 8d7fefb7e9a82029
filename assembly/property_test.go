package assembly

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// The properties that the specification lists at its end.

func drawAmount(t *rapid.T, most int64, name string) Amount {
	draw := func(d string) int64 { return rapid.Int64Range(0, most).Draw(t, name+d) }
	return Amount{draw(" items"), draw(" bytes"), draw(" tokens")}
}

func drawShares(t *rapid.T) (shares []share) {
	for i := range rapid.IntRange(0, 6).Draw(t, "positions") {
		s := share{position: int64(i + 1), isRequired: rapid.Bool().Draw(t, "required")}
		s.cap = Bounds{drawAmount(t, 12, "cap"), rapid.Int64Range(0, 12).Draw(t, "per item")}
		s.minimum = Amount{min(s.cap.Items, rapid.Int64Range(0, 4).Draw(t, "minimum")), min(s.cap.Bytes, 2), min(s.cap.Tokens, 3)}
		shares = append(shares, s)
	}
	return shares
}

func shuffled[T any](t *rapid.T, list []T) []T {
	list = slices.Clone(list)
	rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// TestBudgetProperties: list order does not matter, allocations never exceed the pool, a required position has its minimum,
// and nobody is short of its cap while capacity is left.
func TestBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t)
		in := budgetInput{items: rapid.Int64Range(0, 40).Draw(t, "items"), bytes: rapid.Int64Range(0, 40).Draw(t, "bytes"),
			tokens: limit{rapid.Int64Range(0, 40).Draw(t, "tokens"), true}, reserved: drawAmount(t, 3, "reserve")}
		b, _ := allocate(in, shares)
		if again, _ := allocate(in, shuffled(t, shares)); !reflect.DeepEqual(again, b) {
			t.Fatalf("another order allocates %+v, not %+v", again, b)
		}
		if b.code != "" {
			if len(b.allocations) > 0 {
				t.Fatal("a failed budget allocates")
			}
			return
		}
		var used Amount
		for _, a := range b.allocations {
			used = used.plus(a.Amount)
		}
		if used.exceeds(b.pool) {
			t.Fatalf("%+v of %+v", used, b.pool)
		}
		left := b.pool.minus(used)
		for i, a := range b.allocations {
			s := shares[i]
			if s.isRequired && s.minimum.exceeds(a.Amount) || a.exceeds(s.cap.Amount) {
				t.Fatalf("%+v for %+v", a, s)
			}
			if left.Items > 0 && a.Items < s.cap.Items || left.Bytes > 0 && a.Bytes < s.cap.Bytes || left.Tokens > 0 && a.Tokens < s.cap.Tokens {
				t.Fatalf("%+v is short of %+v while %+v is left", a, s.cap, left)
			}
		}
	})
}

// TestMergeProperties: the order of the rows does not matter, exactly one contribution survives per undisputed identity and
// none per disputed one.
func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		positions := []any{}
		for i := range rapid.IntRange(0, 5).Draw(t, "positions") {
			p := mergeTree(i+1, rapid.SampledFrom([]Word{required, optional}).Draw(t, "requirement"), rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3).Draw(t, "refs")...)
			for _, c := range p["contributions"].([]any) {
				c.(tree)["payload_digest"] = hashOf(rapid.SampledFrom([]string{"x", "x", "x", "y"}).Draw(t, "payload"))
			}
			positions = append(positions, p)
		}
		input := func(list []any) []byte {
			return must(json.Marshal(tree{"equivalence_mapping": tree{"version": "v", "entries": []any{}}, "positions": list}))
		}
		got := must(VerifyStage("merge", input(positions), []byte("{}")))
		again := must(VerifyStage("merge", input(shuffled(t, positions)), []byte("{}")))
		if !reflect.DeepEqual(got.Derived, again.Derived) {
			t.Fatalf("another order merges to %s, not %s", again.Derived, got.Derived)
		}
		payloads, survivors := map[string]map[string]bool{}, map[string]int{}
		var kept [][2]int
		if err := json.Unmarshal(got.Derived["included"], &kept); err != nil {
			t.Fatal(err)
		}
		for _, p := range positions {
			for _, c := range p.(tree)["contributions"].([]any) {
				ref := c.(tree)["source"].(tree)["stable_ref"].(string)
				if payloads[ref] == nil {
					payloads[ref] = map[string]bool{}
				}
				payloads[ref][c.(tree)["payload_digest"].(string)] = true
				if slices.Contains(kept, [2]int{p.(tree)["position"].(int), c.(tree)["ordinal"].(int)}) {
					survivors[ref]++
				}
			}
		}
		for ref, seen := range payloads {
			if want := map[bool]int{true: 1, false: 0}[len(seen) == 1]; survivors[ref] != want {
				t.Fatalf("%d of %s survive, want %d", survivors[ref], ref, want)
			}
		}
	})
}

// TestTruncationProperties: nothing protected goes, and not one item more than needed.
func TestTruncationProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string) Size { return Size{rapid.Int64Range(0, 9).Draw(t, name), 0} }
		in := finalInput{ceiling: finalLimits{tokens: rapid.Int64Range(0, 80).Draw(t, "ceiling")}, fixed: size("fixed"), messageCount: 10, keepLast: 4}
		for i := range rapid.IntRange(0, 3).Draw(t, "tools") {
			in.toolResults = append(in.toolResults, toolResult{string(rune('a' + i)), rapid.Int64Range(0, 9).Draw(t, "index"), size("tool"), rapid.Bool().Draw(t, "protected")})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "units") {
			in.units = append(in.units, transcriptUnit{string(rune('a' + i)), size("unit"), rapid.Bool().Draw(t, "protected")})
		}
		var pieces []sizedPiece
		for i := range rapid.IntRange(0, 5).Draw(t, "pieces") {
			pieces = append(pieces, sizedPiece{Ref{int64(i), 0}, size("piece"), rapid.Bool().Draw(t, "protected")})
		}
		f, _ := truncate(&in, pieces)
		protected := in.protected(pieces)
		for _, m := range f.Removed {
			if protected[m.Part] {
				t.Fatalf("%v is protected", m)
			}
		}
		if n := len(f.Removed); n > 0 && f.Removed[n-1].Step > 1 { // without the last removal it was still over
			last := f.Removed[n-1].Part
			before := f.SizeAfter.Tokens
			for _, p := range pieces {
				if last.Kind == aContribution && p.ref == last.Ref {
					before += p.size.Tokens
				}
			}
			for _, u := range in.units {
				if last.Kind == aTranscriptUnit && u.name == last.Name {
					before += u.size.Tokens
				}
			}
			if before <= in.ceiling.tokens {
				t.Fatalf("%d fits %d before the last of %v", before, in.ceiling.tokens, f.Removed)
			}
		}
		if fit := f.SizeAfter.Tokens <= in.ceiling.tokens; fit != (f.Result == fits) || f.SizeBefore.Tokens <= in.ceiling.tokens && len(f.Removed) > 0 {
			t.Fatalf("%+v under %d", f, in.ceiling.tokens)
		}
	})
}

// TestClampIsTheMinimum goes through all combinations.
func TestClampIsTheMinimum(t *testing.T) {
	all := []Word{untrustedData, contextData, workflowGuidance}
	rank := func(w Word) int { return slices.Index(all, w) }
	for n := range 3 * 3 * 3 * 3 * 3 * 2 {
		pick := func() Word { w := all[n%3]; n /= 3; return w }
		in := clampInput{claim: pick(), ceiling: pick(), sensitivity: public, freshness: stale, modelBoundary: []Word{public}, position: []Word{public}}
		in.class = classRule{ceiling: pick(), floor: public}
		in.byFreshness = freshnessCeilings{workflowGuidance, pick(), workflowGuidance}
		in.policies.public = sensitivityPolicy{true, pick()}
		in.class.isExternal = n%2 == 1
		want := min(rank(in.claim), rank(in.ceiling), rank(in.class.ceiling), rank(in.byFreshness.stale), rank(in.policies.public.ceiling))
		if in.class.isExternal {
			want = min(want, rank(contextData))
		}
		if got := clamp(in); got.authority != all[want] || (got.wrapper == dataIsolation) != (in.class.isExternal || want == 0) {
			t.Errorf("%+v: %+v, want %s", in, got, all[want])
		}
	}
}

// TestRowOrderDoesNotMatter shuffles the runtime rows and the contributions of live results: the outcome stays.
func TestRowOrderDoesNotMatter(t *testing.T) {
	whole := record(6, 3)
	rapid.Check(t, func(t *rapid.T) {
		again := treeOf(whole)
		again["positions"] = shuffled(t, again["positions"].([]any))
		for _, row := range again["positions"].([]any) {
			if r, ok := row.(tree)["result"].(tree); ok {
				r["contributions"] = shuffled(t, r["contributions"].([]any))
			}
		}
		if r := must(VerifyJSON(must(json.Marshal(again)))); r.Verdict != Verified {
			t.Fatalf("%s %v", r.Verdict, r.Findings)
		}
	})
}

// TestDigestsTwice holds every encoder of hashed bytes against an independent implementation of RFC 8785.
func TestDigestsTwice(t *testing.T) {
	whole := record(3, 2)
	for _, domain := range []string{profileDomain, planDomain} {
		src := must(json.MarshalIndent(whole, " ", "\t"))
		if got := must(digestJSON(domain, src, "")); got != digestTwice(domain, whole) {
			t.Errorf("%s", got)
		}
	}
	a := must(Parse(must(json.Marshal(whole))))
	if got, want := a.snapshot.Digest(), get(whole, "/snapshot/snapshot_digest"); got != want || !a.snapshot.DigestHolds() || !a.plan.DigestHolds() {
		t.Errorf("snapshot digest %s, want %s", got, want)
	}
	if got, want := a.id.scopeDigest(), digestTwice(scopeDomain, tree{"tenant_id": tenant, "agent_id": agent, "workspace_id": workspace, "conversation_id": conversation}); got != want {
		t.Errorf("scope digest %s, want %s", got, want)
	}
	canonical := must(jcs.Transform([]byte(`{"b":1,"a":{"d":"x","c":[2,1]},"x":null}`)))
	if got := must(withoutMember([]byte(` {"b":1, "x" : null,"a":{"d":"x","c":[2,1]} , "gone" : {"b":2}} `), "gone")); !sameJSON(got, canonical) {
		t.Errorf("%s", got)
	}
}
