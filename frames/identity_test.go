package frames

import (
	"encoding/json"
	"slices"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"ledgerd/internal/strictjson"
)

// anyText draws strings that order differently by bytes, by UTF-16 units and by locale.
var anyText = rapid.OneOf(
	rapid.SampledFrom([]string{"", "a", "A", "b", "ä", "～", "😀", "\x00", "sha256:"}),
	rapid.String(),
)

func anyID(t *rapid.T) FrameID {
	id := FrameID{ProviderID: anyText.Draw(t, "provider"), FrameID: anyText.Draw(t, "frame")}
	if rapid.Bool().Draw(t, "has digest") {
		id.ContentDigest = SomeDigest(anyText.Draw(t, "digest"))
	}
	return id
}

// rustOrder is the derived Ord of the reference, written independently: a tuple of strings by code point, which is the
// order of UTF-8 bytes, and an Option whose None comes first.
func rustOrder(a, b FrameID) int {
	byCodePoint := func(a, b string) int { return slices.Compare([]rune(a), []rune(b)) }
	if c := byCodePoint(a.ProviderID, b.ProviderID); c != 0 {
		return c
	}
	if c := byCodePoint(a.FrameID, b.FrameID); c != 0 {
		return c
	}
	option := func(d Digest) []string {
		if value, ok := d.Value(); ok {
			return []string{value}
		}
		return nil
	}
	return slices.CompareFunc(option(a.ContentDigest), option(b.ContentDigest), byCodePoint)
}

func TestOrderIsTotalAndRusts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyID(t), anyID(t), anyID(t)
		if Compare(a, b) != rustOrder(a, b) {
			t.Fatalf("%+v, %+v: %d, Rust %d", a, b, Compare(a, b), rustOrder(a, b))
		}
		if Compare(a, b) != -Compare(b, a) || (Compare(a, b) == 0) != (a == b) {
			t.Fatalf("not antisymmetric: %+v, %+v", a, b)
		}
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
			t.Fatalf("not transitive: %+v, %+v, %+v", a, b, c)
		}
		ids := []FrameID{a, b, c, a}
		if sorted := Canonical(ids); !IsCanonical(sorted) || ids[0] != a || ids[2] != c {
			t.Fatalf("%+v", sorted)
		}
	})
}

func TestNoDigestIsNotTheEmptyOne(t *testing.T) {
	none, empty, some := FrameID{}, FrameID{ContentDigest: SomeDigest("")}, FrameID{ContentDigest: SomeDigest("a")}
	if none == empty || Compare(none, empty) >= 0 || Compare(empty, some) >= 0 {
		t.Error("the order is not none, empty, some")
	}
	if none.IsVerifiable() || !empty.IsVerifiable() {
		t.Error("an empty digest is a digest")
	}
}

func TestIdentitySurvivesEveryEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := anyID(t)
		v1, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		v2, err := jsonv2.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range [][]byte{v1, v2} {
			got, err := strictjson.Parse(out, strictjson.Closed, DecodeFrameID)
			if err != nil || got != id {
				t.Fatalf("%s: %+v, %v", out, got, err)
			}
			var lax FrameID
			if err := json.Unmarshal(out, &lax); err != nil || lax != id {
				t.Fatalf("%s: %+v, %v", out, lax, err)
			}
		}
	})
}

func TestIsSHA256(t *testing.T) {
	hex := "6e73c431a62c4af943a01d9c8a71d4cd0045a41734b033ce34ede25d4c5f8ddd"
	for digest, want := range map[string]bool{
		"sha256:" + hex: true, hex: false, "sha256:" + hex[1:]: false, "sha256:" + hex + "0": false, "SHA256:" + hex: false,
		"sha256:" + "G" + hex[1:]: false, "sha256:" + hex[:32] + "A" + hex[33:]: false, "": false, "sha256:": false,
	} {
		if got := SomeDigest(digest).IsSHA256(); got != want {
			t.Errorf("%s: %v", digest, got)
		}
	}
	if (Digest{}).IsSHA256() {
		t.Error("none is a digest")
	}
}

func TestFindingsOfOneCodeAreBounded(t *testing.T) {
	var f Findings
	for range MaxPlaces + 3 {
		f.Add(EmptyID, "", "/a")
	}
	f.Add(D1Conflict, DocReuseD1, "/b")
	got := f.List()
	if len(got) != MaxPlaces+1 || got[MaxPlaces-1].More != 3 || got[MaxPlaces].Code != D1Conflict {
		t.Errorf("%+v", got)
	}
}
