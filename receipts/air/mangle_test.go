package air

import (
	"bytes"
	"encoding/json"
	"testing"
)

// unsigned are the members that no proof of the fixtures covers: what the seed calls snapshot metadata and disclosure
// (§3.3). The profile id is unsigned too, but no single byte turns one id into the other.
var unsigned = []string{evidencePath + "/retrieved_on", evidencePath + "/source_sha256", keysPath + "/0/operator", keysPath + "/1/operator"}

// TestMangle changes every byte of a valid bundle in several ways. None may verify, unless it changed an unsigned member or
// only the spelling of the same JSON value. This also states, byte for byte, what the proofs protect.
func TestMangle(t *testing.T) {
	policy := must(NewPolicy(pinEverything()))
	for _, mode := range []WitnessMode{ProviderSigns, MPCTLS, TEE} {
		good := must(fixture(mode, "openai").JSON())
		if r := Verify(good, policy); !r.OK {
			t.Fatalf("%s: the fixture is %s: %v", mode, r.Status, r.Errors)
		}
		want := signedPart(t, good)
		for i := range good {
			for _, mask := range []byte{0x01, 0x02, 0x10, 0x20, 0x80, 0xff} {
				bad := bytes.Clone(good)
				bad[i] ^= mask
				r := Verify(bad, policy)
				checkResult(t, string(mode), r)
				if r.OK && !bytes.Equal(signedPart(t, bad), want) {
					t.Fatalf("%s: byte %d changed by %#x still verifies: %q", mode, i, mask, bad[max(0, i-40):min(len(bad), i+40)])
				}
			}
		}
	}
}

// signedPart is the canonical form of a bundle with its unsigned members blanked.
func signedPart(t *testing.T, bundle []byte) []byte {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(bundle, &tree); err != nil {
		t.Fatal(err)
	}
	for _, pointer := range unsigned {
		if pointer != keysPath+"/1/operator" || len(tree["verification_keys"].([]any)) > 1 {
			put(pointer, nil)(tree)
		}
	}
	return must(canonicalJSON(tree))
}
