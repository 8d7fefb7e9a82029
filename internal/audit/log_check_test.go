package audit_test

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
)

// grown is a log of synthetic leaves, as a store would hold it.
type grown struct {
	check audit.LogCheck
	tiles []audit.StoredTile
	kept  []audit.StoredCheckpoint
	found []audit.Fault
}

func leafTime(i int) time.Time { return time.UnixMicro(int64(i) + 1_700_000_000_000_000).UTC() }

func leafOf(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

// grow makes a log of n leaves that keeps a checkpoint at each of the given sizes.
func grow(t *testing.T, n int, keep ...int) *grown {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(skey)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	g := &grown{}
	var f ledger.Frontier
	sign := func() []byte {
		msg, err := ledger.Checkpoint{Origin: origin, Size: f.Size(), Root: f.Root()}.Sign(signer)
		if err != nil {
			t.Fatal(err)
		}
		return msg
	}
	for i := range n {
		for _, tile := range f.Append(ledger.LeafHash(leafOf(i))) {
			g.tiles = append(g.tiles, audit.StoredTile{Level: tile.Level, Index: tile.Index, Root: tile.Root[:], Hashes: tile.Hashes})
		}
		if slices.Contains(keep, i+1) {
			g.kept = append(g.kept, audit.StoredCheckpoint{Size: f.Size(), SignedAt: leafTime(i), Note: sign()})
		}
	}
	g.check = audit.LogCheck{
		Head:      ledger.Head{Origin: origin, Size: f.Size(), Root: f.Root(), RecordedAt: leafTime(n - 1), Checkpoint: string(sign())},
		Verifiers: []note.Verifier{verifier}, Report: func(f audit.Fault) { g.found = append(g.found, f) },
	}
	return g
}

// run checks the log; leaves in skip are not there.
func (g *grown) run(skip ...int) []audit.Fault {
	g.check.Tiles = &audit.Ahead[audit.StoredTile]{Next: from(g.tiles)}
	g.check.Checkpoints = &audit.Ahead[audit.StoredCheckpoint]{Next: from(g.kept)}
	g.check.Begin()
	for i := range int(g.check.Head.Size) {
		if !slices.Contains(skip, i) {
			g.check.Entry(int64(i), leafTime(i), ledger.LeafHash(leafOf(i)))
		}
	}
	g.check.Finish()
	return g.found
}

func from[T any](list []T) func() (T, bool) {
	return func() (v T, ok bool) {
		if len(list) == 0 {
			return v, false
		}
		v, list = list[0], list[1:]
		return v, true
	}
}

// Past the first tile of the second level, whose tiles the store gives in the order in which they were filled.
func TestLogCheckClean(t *testing.T) {
	t.Parallel()
	g := grow(t, 65536+300, 1, 256, 65536, 65537)
	if found := g.run(); len(found) > 0 || len(g.tiles) != 258 {
		t.Errorf("%d tiles, found %v", len(g.tiles), found)
	}
}

func TestLogCheckNamesTheLeafOfAHigherTile(t *testing.T) {
	t.Parallel()
	g := grow(t, 65536)
	g.tiles[256].Hashes = slices.Clone(g.tiles[256].Hashes)
	g.tiles[256].Hashes[3*32] ^= 1
	if found := g.run(); len(found) != 1 || found[0].Code != audit.FaultTile || found[0].Seq != 3*256 || !strings.HasPrefix(found[0].Detail, "tile 1/0 ") {
		t.Errorf("found %v", found)
	}
}

func TestLogCheckGaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		skip []int
		want []audit.Fault // without details
	}{
		"one":       {[]int{5}, []audit.Fault{{Seq: 5, Code: audit.FaultMissing}, {Seq: 5, Code: audit.FaultRoot}}},
		"the first": {[]int{0}, []audit.Fault{{Seq: 0, Code: audit.FaultMissing}, {Seq: 0, Code: audit.FaultRoot}}},
		"two runs":  {[]int{5, 6, 8}, []audit.Fault{{Seq: 5, Code: audit.FaultMissing}, {Seq: 5, Code: audit.FaultRoot}, {Seq: 8, Code: audit.FaultMissing}}},
		"the last": {[]int{8, 9}, []audit.Fault{{Seq: 8, Code: audit.FaultMissing}, {Seq: 8, Code: audit.FaultRoot},
			{Seq: audit.NoSeq, Code: audit.FaultHead}}},
	} {
		found := grow(t, 10).run(c.skip...)
		for i := range found {
			found[i].Detail = ""
		}
		if !slices.Equal(found, c.want) {
			t.Errorf("%s: %v, want %v", name, found, c.want)
		}
	}
}

func TestLogCheckTimes(t *testing.T) {
	t.Parallel()
	g := grow(t, 2)
	g.check.Tiles = &audit.Ahead[audit.StoredTile]{Next: from(g.tiles)}
	g.check.Checkpoints = &audit.Ahead[audit.StoredCheckpoint]{Next: from(g.kept)}
	g.check.Begin()
	g.check.Entry(0, leafTime(5), ledger.LeafHash(leafOf(0)))
	g.check.Entry(1, leafTime(4), ledger.LeafHash(leafOf(1)))
	if len(g.found) != 1 || g.found[0].Seq != 1 || g.found[0].Code != audit.FaultTime {
		t.Errorf("found %v", g.found)
	}
}
