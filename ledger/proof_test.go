package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"ledgerd/ledger"
)

func path(tb testing.TB, f *forest, index, size int64) []tlog.Hash {
	tb.Helper()
	_, hashes, err := ledger.NewTree(f.at(f.frontier.Size()), f).Inclusion(tb.Context(), index, size)
	if err != nil {
		tb.Fatal(err)
	}
	return hashes
}

func consistency(tb testing.TB, f *forest, from, to int64) []tlog.Hash {
	tb.Helper()
	hashes, err := ledger.NewTree(f.at(f.frontier.Size()), f).Consistency(tb.Context(), from, to)
	if err != nil {
		tb.Fatal(err)
	}
	return hashes
}

// slicesOf is what merkle's verifiers take.
func slicesOf(hashes []tlog.Hash) [][]byte {
	var list [][]byte
	for _, h := range hashes {
		list = append(list, h[:])
	}
	return list
}

func TestCheckInclusion(t *testing.T) {
	f, k := grown(t), newKey(t, origin)
	signed := open(t, f.at(700), k)
	for _, index := range []int64{0, 1, 255, 256, 511, 512, 699} {
		hashes := path(t, f, index, 700)
		got, err := ledger.CheckInclusion(signed, index, leaf(index), hashes)
		if err != nil || !got.Valid() || got.Index() != index || got.Leaf() != leaf(index) || got.Checkpoint().Checkpoint() != f.at(700) {
			t.Errorf("leaf %d: %+v, %v", index, got, err)
		}
		l, root := leaf(index), f.at(700).Root
		if err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(index), 700, l[:], slicesOf(hashes), root[:]); err != nil {
			t.Errorf("leaf %d, as merkle sees it: %v", index, err)
		}
	}
}

func TestCheckInclusionRefuses(t *testing.T) {
	f, k := grown(t), newKey(t, origin)
	signed, hashes := open(t, f.at(700), k), path(t, f, 300, 700)
	for name, c := range map[string]struct {
		signed ledger.SignedCheckpoint
		index  int64
		leaf   tlog.Hash
		hashes []tlog.Hash
	}{
		"an unverified checkpoint": {ledger.SignedCheckpoint{}, 300, leaf(300), hashes},
		"another index":            {signed, 301, leaf(300), hashes},
		"a negative index":         {signed, -1, leaf(300), hashes},
		"an index beyond the tree": {signed, 700, leaf(300), hashes},
		"another leaf":             {signed, 300, leaf(301), hashes},
		"another tree":             {open(t, f.at(699), k), 300, leaf(300), hashes},
		"a hash too few":           {signed, 300, leaf(300), hashes[1:]},
		"a hash too many":          {signed, 300, leaf(300), append(slices.Clone(hashes), leaf(0))},
		"no hashes":                {signed, 300, leaf(300), nil},
	} {
		got, err := ledger.CheckInclusion(c.signed, c.index, c.leaf, c.hashes)
		if !errors.Is(err, ledger.ErrProof) || got.Valid() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := range len(hashes) * tlog.HashSize { // every byte of every hash counts
		bad := slices.Clone(hashes)
		bad[at/tlog.HashSize][at%tlog.HashSize] ^= 1
		if _, err := ledger.CheckInclusion(signed, 300, leaf(300), bad); !errors.Is(err, ledger.ErrProof) {
			t.Errorf("byte %d flipped: %v", at, err)
		}
	}
	if (ledger.Inclusion{}).Valid() || (ledger.Consistency{}).Valid() || (ledger.SignedCheckpoint{}).Valid() {
		t.Error("a zero value counts as verified")
	}
}

func TestCheckConsistency(t *testing.T) {
	f, k := grown(t), newKey(t, origin)
	sizes := rapid.SampledFrom([]int64{0, 1, 2, 3, 128, 255, 256, 257, 300, 511, 512, 513, 699, 700})
	rapid.Check(t, func(rt *rapid.T) {
		from, to := sizes.Draw(rt, "from"), sizes.Draw(rt, "to")
		if from > to {
			from, to = to, from
		}
		hashes := consistency(t, f, from, to)
		got, err := ledger.CheckConsistency(open(t, f.at(from), k), open(t, f.at(to), k), hashes)
		if err != nil || !got.Valid() || got.From().Checkpoint().Size != from || got.To().Checkpoint().Size != to {
			rt.Fatalf("%d to %d: %v", from, to, err)
		}
		old, next := f.at(from).Root, f.at(to).Root
		if err := proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(from), uint64(to), slicesOf(hashes), old[:], next[:]); err != nil {
			rt.Fatalf("%d to %d, as merkle sees it: %v", from, to, err)
		}
	})
}

func TestCheckConsistencyRefuses(t *testing.T) {
	f, k := grown(t), newKey(t, origin)
	from, to, hashes := open(t, f.at(300), k), open(t, f.at(700), k), consistency(t, f, 300, 700)
	other := f.at(300)
	other.Origin = "example.org/other"
	forked := f.at(300)
	forked.Root[31] ^= 1
	fakeEmpty := ledger.Checkpoint{Origin: origin, Root: leaf(0)}
	for name, c := range map[string]struct {
		from, to ledger.SignedCheckpoint
		hashes   []tlog.Hash
	}{
		"no old checkpoint":           {ledger.SignedCheckpoint{}, to, hashes},
		"no new checkpoint":           {from, ledger.SignedCheckpoint{}, hashes},
		"the order reversed":          {to, from, hashes},
		"two logs":                    {open(t, other, newKey(t, other.Origin)), to, hashes},
		"a fork":                      {open(t, forked, k), to, hashes},
		"a fork of one size":          {open(t, forked, k), from, nil},
		"a hash too few":              {from, to, hashes[1:]},
		"a hash too many":             {from, to, append(slices.Clone(hashes), leaf(0))},
		"no hashes":                   {from, to, nil},
		"hashes from the empty tree":  {open(t, f.at(0), k), to, hashes},
		"an empty tree with a root":   {open(t, fakeEmpty, k), to, nil},
		"two empty trees, two roots":  {open(t, f.at(0), k), open(t, fakeEmpty, k), nil},
		"shrunk to nothing":           {from, open(t, f.at(0), k), nil},
		"hashes between equal trees ": {from, from, hashes},
	} {
		got, err := ledger.CheckConsistency(c.from, c.to, c.hashes)
		if !errors.Is(err, ledger.ErrProof) || got.Valid() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := range len(hashes) * tlog.HashSize {
		bad := slices.Clone(hashes)
		bad[at/tlog.HashSize][at%tlog.HashSize] ^= 1
		if _, err := ledger.CheckConsistency(from, to, bad); !errors.Is(err, ledger.ErrProof) {
			t.Errorf("byte %d flipped: %v", at, err)
		}
	}
}
