package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// restore puts a table back to how it was when keep was called.
func (l *tampered) keep(t *testing.T, table string) (restore func()) {
	t.Helper()
	l.exec(t, "CREATE TEMP TABLE kept_"+table+" AS TABLE ledger."+table)
	return func() {
		t.Helper()
		l.exec(t, "TRUNCATE ledger."+table)
		l.exec(t, "INSERT INTO ledger."+table+" TABLE kept_"+table)
	}
}

func has(found []audit.Fault, code audit.FaultCode) bool {
	return slices.ContainsFunc(found, func(f audit.Fault) bool { return f.Code == code })
}

// Each column of head, tiles and checkpoints is changed alone, and found.
func TestFsckFindsChangesOfTheTree(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	restore := map[string]func(){}
	want := map[string]audit.FaultCode{"head": audit.FaultHead, "tiles": audit.FaultTile, "checkpoints": audit.FaultCheckpoint}
	for table := range want {
		restore[table] = l.keep(t, table)
	}
	for _, c := range l.ledgerColumns(t) {
		code, ok := want[c.table]
		if !ok || c.name == "only_row" { // which a constraint holds at true
			continue
		}
		l.exec(t, "UPDATE ledger."+c.table+" SET "+c.name+" = "+change(t, c.name, c.kind))
		if c.table == "head" && (c.name == "incarnation" || c.name == "base") {
			code = map[string]audit.FaultCode{"incarnation": audit.FaultTile, "base": audit.FaultMissing}[c.name]
		}
		if _, found := fsck(t, l.Ledger); !has(found, code) {
			t.Errorf("%s.%s was changed, found %+v", c.table, c.name, found)
		}
		restore[c.table]()
	}
	if _, found := fsck(t, l.Ledger); len(found) > 0 {
		t.Errorf("restored: %+v", found)
	}
}

func TestFsckFindsTilesAndCheckpointsThatAreNotTheTrees(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	restoreTiles, restoreCheckpoints := l.keep(t, "tiles"), l.keep(t, "checkpoints")
	other, err := ledger.Checkpoint{Origin: l.Keys.Signer.Name(), Size: 200, Root: tlog.Hash{1}}.Sign(l.Keys.Signer)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sql  string
		args []any
		want audit.Fault // without detail
	}{
		"a hash of a tile":          {`UPDATE ledger.tiles SET hashes = set_byte(hashes, 77 * 32 + 5, get_byte(hashes, 77 * 32 + 5) # 1)`, nil, audit.Fault{Seq: 77, Code: audit.FaultTile}},
		"a tile is gone":            {`DELETE FROM ledger.tiles`, nil, audit.Fault{Seq: 0, Code: audit.FaultTile}},
		"a tile too many":           {`INSERT INTO ledger.tiles SELECT incarnation, level, 1, root, hashes FROM ledger.tiles`, nil, audit.Fault{Seq: audit.NoSeq, Code: audit.FaultTile}},
		"a tile before the first":   {`INSERT INTO ledger.tiles SELECT incarnation, level, -1, root, hashes FROM ledger.tiles`, nil, audit.Fault{Seq: audit.NoSeq, Code: audit.FaultTile}},
		"a tile far away":           {`INSERT INTO ledger.tiles SELECT incarnation, 32767, 9223372036854775807, root, hashes FROM ledger.tiles`, nil, audit.Fault{Seq: audit.NoSeq, Code: audit.FaultTile}},
		"a tile of a later log":     {`INSERT INTO ledger.tiles SELECT incarnation + 1, level, index, root, hashes FROM ledger.tiles`, nil, audit.Fault{Seq: audit.NoSeq, Code: audit.FaultTile}},
		"a checkpoint of our own":   {`INSERT INTO ledger.checkpoints SELECT 0, 200, recorded_at, $1 FROM ledger.entries WHERE seq = 199`, []any{string(other)}, audit.Fault{Seq: 199, Code: audit.FaultCheckpoint}},
		"a checkpoint unsigned":     {`INSERT INTO ledger.checkpoints SELECT 0, 200, recorded_at, 'x' FROM ledger.entries WHERE seq = 199`, nil, audit.Fault{Seq: 199, Code: audit.FaultCheckpoint}},
		"a checkpoint beyond":       {`INSERT INTO ledger.checkpoints SELECT incarnation, 501, signed_at, checkpoint FROM ledger.checkpoints LIMIT 1`, nil, audit.Fault{Seq: audit.NoSeq, Code: audit.FaultCheckpoint}},
		"a checkpoint of less than": {`INSERT INTO ledger.checkpoints SELECT incarnation, -1, signed_at, checkpoint FROM ledger.checkpoints LIMIT 1`, nil, audit.Fault{Seq: audit.NoSeq, Code: audit.FaultCheckpoint}},
	} {
		l.exec(t, c.sql, c.args...)
		_, found := fsck(t, l.Ledger)
		if len(found) == 0 || found[0].Seq != c.want.Seq || found[0].Code != c.want.Code || len(found) > 1 {
			t.Errorf("%s: found %+v, want one %+v", name, found, c.want)
		}
		restoreTiles()
		restoreCheckpoints()
	}
}

// A whole entry is replaced by another that fits together: only the tree tells.
func TestFsckFindsAResealedEntry(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	seq := l.pick(t, &kinds.ConsentReceipt, map[int64]bool{})
	e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, seq)
	if err != nil {
		t.Fatal(err)
	}
	var salt ledger.Salt
	if _, err := rand.Read(salt[:]); err != nil {
		t.Fatal(err)
	}
	e = ledger.Prepare(e.Meta, e.Content, salt, e.MetaSalt).Seal(l.Keys.Signer.Name(), seq, e.RecordedAt)
	l.exec(t, `UPDATE ledger.entries SET envelope = $2, leaf_hash = $3 WHERE seq = $1`, seq, e.Envelope, e.LeafHash[:])
	l.exec(t, `UPDATE ledger.contents SET content_salt = $2 WHERE seq = $1`, seq, salt[:])
	_, found := fsck(t, l.Ledger)
	if !has(found, audit.FaultRoot) || (seq < 256 && (found[0].Seq != seq || found[0].Code != audit.FaultTile)) {
		t.Errorf("entry %d was sealed anew, found %+v", seq, found)
	}
}

func TestFsckSince(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	since := func(s ledger.Checkpoint) func(*postgres.FsckOptions) {
		return func(o *postgres.FsckOptions) { o.Since = &s }
	}
	head, found := fsck(t, l.Ledger)
	now := ledger.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}
	if len(found) > 0 {
		t.Fatal(found)
	}
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "one-more", "p")); err != nil {
		t.Fatal(err)
	}
	if _, found := fsck(t, l.Ledger, since(now)); len(found) > 0 {
		t.Errorf("a log that grew: %+v", found)
	}
	empty := ledger.Checkpoint{Origin: head.Origin, Root: ledger.Frontier{}.Root()}
	if _, found := fsck(t, l.Ledger, since(empty)); len(found) > 0 {
		t.Errorf("since the empty log: %+v", found)
	}
	rewritten := now
	rewritten.Root[0] ^= 1
	if _, found := fsck(t, l.Ledger, since(rewritten)); len(found) != 1 || found[0].Code != audit.FaultSince {
		t.Errorf("a log with another history: %+v", found)
	}
	foreign := now
	foreign.Origin = "other.example/log"
	if _, found := fsck(t, l.Ledger, since(foreign)); len(found) != 1 || found[0].Code != audit.FaultSince {
		t.Errorf("a checkpoint of another log: %+v", found)
	}
}

// A log that was cut back to an older state of its own is consistent, and only an outside checkpoint tells.
func TestFsckFindsTruncation(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	restore := l.keep(t, "head")
	for _, key := range []string{"a", "b"} {
		if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, key, "p")); err != nil {
			t.Fatal(err)
		}
	}
	head, _ := fsck(t, l.Ledger)
	for _, table := range []string{"entries", "contents", "keys", "consents"} {
		l.exec(t, "DELETE FROM ledger."+table+" WHERE seq >= $1", tamperedSize)
	}
	restore()
	if _, found := fsck(t, l.Ledger); len(found) > 0 {
		t.Errorf("without an outside checkpoint: %+v", found)
	}
	_, found := fsck(t, l.Ledger, func(o *postgres.FsckOptions) {
		o.Since = &ledger.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}
	})
	if len(found) != 1 || found[0].Code != audit.FaultSince {
		t.Errorf("found %+v", found)
	}
}

func TestFsckWithAnotherKey(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 8)
	_, other := ledgertest.NewKeys(t, l.Keys.Signer.Name())
	_, found := fsck(t, l, func(o *postgres.FsckOptions) { o.Verifiers = []note.Verifier{other.Verifier} })
	if !has(found, audit.FaultHead) || !has(found, audit.FaultCheckpoint) {
		t.Errorf("found %+v", found)
	}
}

// Beside a live service the check sees one state of the log, whatever is appended meanwhile.
func TestFsckBesideALiveService(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		fillKinds(t, l, 600)
	}()
	for busy := true; busy; {
		select {
		case <-appended:
			busy = false
		default:
		}
		if _, found := fsck(t, l); len(found) > 0 {
			t.Errorf("found %+v", found)
		}
	}
}

// A check that can't be completed says so, and calls nothing a fault.
func TestFsckInterrupted(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 300)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := l.Store.Fsck(ctx, postgres.FsckOptions{
		Verifiers: []note.Verifier{l.Keys.Verifier},
		Fault:     func(f audit.Fault) { t.Errorf("found %+v", f) },
		Progress:  func(int64, int64) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
