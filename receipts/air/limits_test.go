package air

import (
	"encoding/json"
	"strings"
	"testing"
)

// hostile documents are refused by a bound or by their shape, whatever they hold.
func hostile() map[string][]byte {
	grown := func(mode WitnessMode, edits ...edit) []byte {
		tree := treeOf(fixture(mode, "openai"))
		auxiliary(tree)
		for _, e := range edits {
			e(tree)
		}
		return must(json.Marshal(tree))
	}
	quorum := treeOf(fixture(MPCTLS, "openai"))
	signature := get(quorum, signaturesPath+"/0")
	return map[string][]byte{
		"10,000 signatures":        grown(MPCTLS, put(signaturesPath, repeatAny(signature, 10000))),
		"700 real signatures":      grown(MPCTLS, put(signaturesPath, repeatAny(signature, 700))),
		"10,000 empty signatures":  grown(MPCTLS, put(signaturesPath, repeatAny(map[string]any{}, 10000))),
		"10,000 keys":              grown(TEE, put(keysPath, repeatAny(map[string]any{}, 10000))),
		"10,000 notaries":          grown(MPCTLS, put(trustPath+"/notaries", repeatAny(1, 10000))),
		"10,000 features":          grown(TEE, put(featuresPath, repeatAny("x", 10000))),
		"10,000 entries":           grown(TEE, put(entriesPath, repeatAny(map[string]any{}, 10000))),
		"10,000 in an unknown one": grown(TEE, put("/unexpected", repeatAny(0, 10000)), put(keysPath, "not looked at any more")),
		"nested arrays":            []byte(strings.Repeat("[", 200000)),
		"nested unknown arrays":    []byte(`{"x":` + strings.Repeat("[", 200000)),
		"nested known objects":     []byte(strings.Repeat(`{"receipt":`, 20000)),
		"nested slots":             []byte(`{"proofs":{"ots":` + strings.Repeat(`{"ots":`, 20000)),
	}
}

// TestHostileIsCheap demands that the bounds come before the work, counted in allocations: without a bound each of these makes
// thousands, or checks its hundreds of signatures and finds nothing wrong with how many they are.
func TestHostileIsCheap(t *testing.T) {
	policy := must(NewPolicy(pinEverything()))
	const most = 150
	for name, src := range hostile() {
		if r := Verify(src, policy); r.Status != Invalid || len(r.Errors) != 1 {
			t.Fatalf("%s: %s with %d errors, want one", name, r.Status, len(r.Errors))
		} else if tooLong := len(src) > 256<<10; tooLong != (r.Errors[0].Rule == R002) {
			t.Errorf("%s (%d bytes): %v", name, len(src), r.Errors)
		}
		if n := testing.AllocsPerRun(5, func() { Verify(src, policy) }); n > most {
			t.Errorf("%s (%d bytes) took %v allocations, more than %d", name, len(src), n, most)
		}
	}
}

// TestMostWork holds the largest bundle that passes the bounds to its 18 signatures.
func TestMostWork(t *testing.T) {
	tree := treeOf(fixture(MPCTLS, "openai"))
	for _, e := range append(manyNotaries(16), auxiliary, put(entriesPath, manyEntries(16))) {
		e(tree)
	}
	push(keysPath, manyKeys(30)...)(tree)
	resign(tree)
	first := get(tree, signaturesPath+"/0")
	push(signaturesPath, repeatAny(first, 14)...)(tree)
	if r := Verify(must(json.Marshal(tree)), must(NewPolicy(pinEverything()))); !r.OK {
		t.Errorf("%s %v", r.Status, r.Errors)
	}
}

func repeatAny(v any, n int) (list []any) {
	for range n {
		list = append(list, v)
	}
	return list
}
