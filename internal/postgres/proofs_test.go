package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

func TestProofsAnySeqAnySize(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*ledgertest.Ledger{"the first log": ledgertest.New(t), "a later log": laterLog(t)} {
		fill(t, l, 700)
		all := recompute(t, l)
		head, err := l.Store.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		roots := make([]tlog.Hash, 701)
		for size := range roots {
			if roots[size], err = tlog.TreeHash(int64(size), all); err != nil {
				t.Fatal(err)
			}
		}
		edges := rapid.SampledFrom([]int64{1, 2, 255, 256, 257, 511, 512, 513, 699, 700})
		rapid.Check(t, func(rt *rapid.T) {
			size := rapid.OneOf(edges, rapid.Int64Range(1, 700)).Draw(rt, "size")
			index := rapid.OneOf(rapid.Int64Range(0, size-1), rapid.Just(size-1)).Draw(rt, "index")
			p, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, head.Base+index, size)
			if err != nil || p.Index != index || p.Size != size || p.Leaf != all[tlog.StoredHashIndex(0, index)] {
				rt.Fatalf("%s: leaf %d of %d: %+v, %v", name, index, size, p, err)
			}
			if err := tlog.CheckRecord(p.Hashes, size, roots[size], index, p.Leaf); err != nil {
				rt.Fatalf("%s: leaf %d of %d: %v", name, index, size, err)
			}
			from := rapid.Int64Range(1, size).Draw(rt, "from")
			c, err := l.Store.Consistency(t.Context(), from, size)
			if err != nil || c.From != from || c.To != size {
				rt.Fatalf("%s: %d to %d: %+v, %v", name, from, size, c, err)
			}
			if err := tlog.CheckTree(c.Hashes, size, roots[size], from, roots[from]); err != nil {
				rt.Fatalf("%s: %d to %d: %v", name, from, size, err)
			}
		})
	}
}

// verified checks a proof against the checkpoint that came with it.
func verified(t *testing.T, l *ledgertest.Ledger, p ledger.InclusionProof) ledger.Inclusion {
	t.Helper()
	in, err := p.Check(p.Leaf, l.Keys.Signer.Name(), l.Keys.Verifier)
	if err != nil || in.Checkpoint().Checkpoint().Size != p.Size {
		t.Errorf("leaf %d of %d against the checkpoint of its own answer: %v", p.Index, p.Size, err)
	}
	return in
}

// Eight writers append while eight readers ask: every proof fits the checkpoint of its own answer, and every checkpoint
// that a reader saw is consistent with the next.
func TestProofsFitTheirCheckpointUnderWriters(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fill(t, l, 200)
	var writers, readers sync.WaitGroup
	written, stop := context.WithCancel(t.Context())
	defer stop()
	for w := range 8 {
		writers.Go(func() {
			for i := range 60 {
				r, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, fmt.Sprintf("w%d-%d", w, i), "p"))
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				p, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, r.Seq, 0)
				if err != nil || p.Leaf != r.LeafHash || !verified(t, l, p).Valid() {
					t.Errorf("proof of entry %d, just recorded: %v", r.Seq, err)
				}
			}
		})
		readers.Go(func() {
			last := verified(t, l, mustProve(t, l, int64(w)))
			for seq := int64(w); written.Err() == nil; seq = (seq + 13) % 200 {
				next := verified(t, l, mustProve(t, l, seq))
				from, to := last.Checkpoint(), next.Checkpoint()
				c, err := l.Store.Consistency(t.Context(), from.Checkpoint().Size, to.Checkpoint().Size)
				if err != nil {
					t.Errorf("consistency: %v", err)
					return
				}
				if _, err := ledger.CheckConsistency(from, to, c.Hashes); err != nil {
					t.Errorf("%d to %d: %v", from.Checkpoint().Size, to.Checkpoint().Size, err)
				}
				last = next
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	checkLog(t, l)
}

func mustProve(t *testing.T, l *ledgertest.Ledger, seq int64) ledger.InclusionProof {
	t.Helper()
	p, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, seq, 0)
	if err != nil {
		t.Errorf("proof of %d: %v", seq, err)
	}
	return p
}

// A checkpoint that was kept comes with proofs at its size; at other old sizes there is none, never one of another size.
func TestProofsAtOldSizes(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fill(t, l, 1) // an appender keeps the first checkpoint that it makes, and one a minute
	fill(t, l, 300)
	var kept []int64
	for size := int64(1); size <= 300; size++ {
		p, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, 0, size)
		if err != nil || p.Size != size {
			t.Fatalf("size %d: %+v, %v", size, p, err)
		}
		c, err := l.Store.Consistency(t.Context(), 1, size)
		if err != nil || string(c.Checkpoint) != string(p.Checkpoint) {
			t.Errorf("size %d: consistency comes with another checkpoint, %v", size, err)
		}
		if p.Checkpoint != nil {
			kept = append(kept, size)
			verified(t, l, p)
		}
	}
	if n := l.Count(t, "ledger.checkpoints"); len(kept) < 2 || kept[0] != 1 || kept[len(kept)-1] != 300 || len(kept) > n+1 {
		t.Errorf("checkpoints at sizes %v, and %d are kept", kept, n)
	}
	asAdmin(t, l, `UPDATE ledger.checkpoints SET checkpoint = (SELECT checkpoint FROM ledger.head) WHERE size = 1`)
	if _, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, 0, 1); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("with a kept checkpoint of another size: %v", err)
	}
}

func TestProofsRefuse(t *testing.T) {
	t.Parallel()
	l := laterLog(t)
	fill(t, l, 10)
	l.AddTenant(t, "umbrella")
	mine := kinds.VisibleTo(kinds.Host, ledgertest.Host.TokenID)
	if _, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, mine, 1000, 0); err != nil {
		t.Errorf("its own host: %v", err)
	}
	for _, c := range []struct {
		name, tenant string
		see          kinds.Visibility
		seq, size    int64
		want         error
	}{
		{"another tenant", "umbrella", auditor, 1000, 0, kinds.ErrNotFound},
		{"another host", ledgertest.Tenant, kinds.VisibleTo(kinds.Host, "tok_other"), 1000, 0, kinds.ErrNotFound},
		{"nobody", ledgertest.Tenant, kinds.Visibility{}, 1000, 0, kinds.ErrNotFound},
		{"a seq beyond the log", ledgertest.Tenant, auditor, 1010, 0, kinds.ErrNotFound},
		{"a seq before the log", ledgertest.Tenant, auditor, 0, 0, kinds.ErrNotFound},
		{"a size beyond the log", ledgertest.Tenant, auditor, 1000, 11, ledger.ErrSize},
		{"a tree without the entry", ledgertest.Tenant, auditor, 1005, 5, ledger.ErrSize},
		{"a negative size", ledgertest.Tenant, auditor, 1000, -1, ledger.ErrSize},
	} {
		if _, err := l.Store.EntryProof(t.Context(), c.tenant, c.see, c.seq, c.size); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for _, c := range [][2]int64{{-1, 5}, {6, 5}, {5, 11}, {11, 0}} {
		if _, err := l.Store.Consistency(t.Context(), c[0], c[1]); !errors.Is(err, ledger.ErrSize) {
			t.Errorf("%d to %d: %v", c[0], c[1], err)
		}
	}
	asAdmin(t, l, `INSERT INTO ledger.entries SELECT seq - 1000, recorded_at, tenant, kind, key, token_id, meta, meta_salt, envelope, leaf_hash FROM ledger.entries`)
	if _, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, 0, 0); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("an entry of an earlier log: %v", err)
	}
}

// A flipped byte in a stored tile, root or leaf hash is an error, and no proof comes of it.
func TestDamagedStoreGivesNoProof(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"a tile's hash":      `UPDATE ledger.tiles SET hashes = set_byte(hashes, 100, get_byte(hashes, 100) # 1)`,
		"a tile's root":      `UPDATE ledger.tiles SET root = set_byte(root, 0, get_byte(root, 0) # 1)`,
		"a leaf of the edge": `UPDATE ledger.entries SET leaf_hash = set_byte(leaf_hash, 0, get_byte(leaf_hash, 0) # 1) WHERE seq = 290`,
		"the entry's leaf":   `UPDATE ledger.entries SET leaf_hash = set_byte(leaf_hash, 0, get_byte(leaf_hash, 0) # 1) WHERE seq = 7`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ledgertest.New(t)
			fill(t, l, 300)
			if p := mustProve(t, l, 7); !verified(t, l, p).Valid() {
				t.Fatal("no proof before the damage")
			}
			asAdmin(t, l, sql)
			if _, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, 7, 0); !errors.Is(err, kinds.ErrReadOnly) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestProofsOfAnEmptyLog(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, 0, 0); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("a proof: %v", err)
	}
	c, err := l.Store.Consistency(t.Context(), 0, 0)
	if err != nil || c.To != 0 || len(c.Hashes) != 0 || len(c.Checkpoint) == 0 {
		t.Errorf("consistency: %+v, %v", c, err)
	}
}

// What is asked for right after an append is answered from a tree that has it, also when the clock stands still.
func TestProofCoversWhatWasJustAcknowledged(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	still := l.StartAppender(t, func() time.Time { return at })
	for i := range 5 {
		r, err := still.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, fmt.Sprint(i), "p"))
		if err != nil {
			t.Fatal(err)
		}
		if in := verified(t, l, mustProve(t, l, r.Seq)); in.Index() != r.Seq || in.Checkpoint().Checkpoint().Size != r.Seq+1 {
			t.Errorf("entry %d is proven in a tree of %d", r.Seq, in.Checkpoint().Checkpoint().Size)
		}
	}
}
