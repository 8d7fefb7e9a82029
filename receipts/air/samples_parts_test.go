package air

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// literal is a number spelled as it is.
func literal(s string) json.Number { return json.Number(s) }

func keyEntry(key ed25519.PrivateKey, role Role) any {
	return treeOf(NewVerificationKey(public(key), role, "key.example"))
}

// manyKeys are n distinct keys that no proof uses.
func manyKeys(n int) (list []any) {
	for i := range n {
		list = append(list, keyEntry(numbered(i), RoleLogOperator))
	}
	return list
}

func numbered(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Append(nil, "air corpus key ", i))
	return ed25519.NewKeyFromSeed(seed[:])
}

func manyObjects(n int) (list []any) {
	for range n {
		list = append(list, map[string]any{})
	}
	return list
}

func manyEntries(n int) (list []any) {
	for i := range n {
		list = append(list, treeOf(InclusionEntry{fmt.Sprintf("log-%d.example", i), fmt.Sprintf("log-%d", i), i,
			digestOf("checkpoint"), digestOf("inclusion")}))
	}
	return list
}

// manyNotaries declares n notaries in all, of which the two of the fixture sign.
func manyNotaries(n int) []edit {
	edits := []edit{put(trustPath+"/quorum/n", n)}
	for i := 2; i < n; i++ {
		edits = append(edits, push(trustPath+"/notaries", treeOf(Notary{fmt.Sprintf("notary-%d", i), refFor(numbered(i)),
			fmt.Sprintf("notary-%d.example", i), "CH"})))
	}
	return edits
}

// auxiliary fills the none-yet slots for the receipt of the tree.
func auxiliary(tree map[string]any) {
	digest := must(receiptDigest(string(must(json.Marshal(tree["receipt"])))))
	proofs := tree["proofs"].(map[string]any)
	for name, slot := range treeOf(auxiliaries(digest)) {
		if slot != nil {
			proofs[name] = slot
		}
	}
}

func firstSignatureOnly(tree map[string]any) {
	put(signaturesPath, get(tree, signaturesPath).([]any)[:1])(tree)
}

// eachSigned makes one sample of every value at the pointer, signed after the change; eachEdit one changed after it.
func eachSigned(id, pointer string, rules []Rule, values ...any) (list []sample) {
	for i, v := range values {
		list = append(list, sample{id: fmt.Sprintf("%s-%d", id, i+1), signed: []edit{put(pointer, v)}, rules: rules})
	}
	return list
}

func eachEdit(base sample, pointer string, values ...any) (list []sample) {
	for i, v := range values {
		s := base
		s.id = fmt.Sprintf("%s-%d", base.id, i+1)
		s.edits = append(append([]edit{}, base.edits...), put(pointer, v))
		list = append(list, s)
	}
	return list
}
