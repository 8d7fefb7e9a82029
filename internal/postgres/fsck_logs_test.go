package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// knowing adds the keys of earlier logs.
func knowing(verifiers ...note.Verifier) func(*postgres.FsckOptions) {
	return func(o *postgres.FsckOptions) { o.Verifiers = append(o.Verifiers, verifiers...) }
}

// newIncarnations is a tampered ledger after two drills: logs of tamperedSize, 3 and 2 entries. earlier are the keys of the
// first two.
func newIncarnations(t *testing.T) (l *tampered, earlier []note.Verifier) {
	t.Helper()
	l = newTampered(t)
	for n := range 2 {
		options, keys := drill(t, l.Ledger)
		if _, err := l.Store.OpenIncarnation(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		earlier = append(earlier, l.Keys.Verifier)
		l.Keys = keys
		appendConsents(t, l.StartAppender(t, time.Now), 1000+10*n, 1002+9*n)
	}
	return l, earlier
}

func TestFsckChecksEachIncarnation(t *testing.T) {
	t.Parallel()
	l, earlier := newIncarnations(t)
	known := knowing(earlier...)
	var done, size int64
	head, found := fsck(t, l.Ledger, known, func(o *postgres.FsckOptions) { o.Progress = func(d, s int64) { done, size = d, s } })
	if len(found) > 0 || head.Incarnation != 2 || head.Base != tamperedSize+3 || done != tamperedSize+5 || size != done {
		t.Fatalf("%+v, %d of %d checked, found %+v", head, done, size, found)
	}
	const byteOf = "set_byte(%, 9, get_byte(%, 9) # 1)"
	for _, c := range []struct {
		table, column, where string
		want                 audit.Fault // without detail
	}{
		{"contents", "content", "seq = 7", audit.Fault{Seq: 7, Code: audit.FaultContent}},
		{"entries", "envelope", fmt.Sprint("seq = ", tamperedSize+1), audit.Fault{Seq: tamperedSize + 1, Code: audit.FaultLeaf}},
		{"tiles", "hashes", "incarnation = 0 AND level = 0", audit.Fault{Seq: 0, Code: audit.FaultTile}},
		{"head", "root", "incarnation = 0", audit.Fault{Seq: audit.NoSeq, Code: audit.FaultHead}},
		{"head", "root", "incarnation = 1", audit.Fault{Seq: audit.NoSeq, Code: audit.FaultHead}},
	} {
		restore := l.keep(t, c.table)
		l.exec(t, "UPDATE ledger."+c.table+" SET "+c.column+" = "+strings.ReplaceAll(byteOf, "%", c.column)+" WHERE "+c.where)
		_, found := fsck(t, l.Ledger, known)
		if !slices.ContainsFunc(found, func(f audit.Fault) bool { return f.Seq == c.want.Seq && f.Code == c.want.Code }) {
			t.Errorf("%s.%s where %s: found %+v, want %+v", c.table, c.column, c.where, found, c.want)
		}
		restore()
		l.exec(t, "DROP TABLE kept_"+c.table)
	}
	for name, c := range map[string]struct {
		table, sql string
		want       audit.FaultCode
	}{
		"a kept checkpoint of an earlier log": {"checkpoints", `UPDATE ledger.checkpoints SET checkpoint = 'x' WHERE incarnation = 1`, audit.FaultCheckpoint},
		"a tile that the log can't have":      {"tiles", `INSERT INTO ledger.tiles SELECT 1, level, index, root, hashes FROM ledger.tiles`, audit.FaultTile},
		"the head of a log between is gone":   {"head", `DELETE FROM ledger.head WHERE incarnation = 1`, audit.FaultHead},
		"a log that begins elsewhere":         {"head", `UPDATE ledger.head SET base = base + 1 WHERE incarnation = 1`, audit.FaultHead},
		"an earlier log that ends earlier":    {"head", `UPDATE ledger.head SET size = size - 1 WHERE incarnation = 0`, audit.FaultIncarnation},
		"a first entry of another kind":       {"entries", `UPDATE ledger.entries SET kind = 'erasure' WHERE seq = ` + fmt.Sprint(tamperedSize), audit.FaultIncarnation},
	} {
		restore := l.keep(t, c.table)
		l.exec(t, c.sql)
		if _, found := fsck(t, l.Ledger, known); !has(found, c.want) {
			t.Errorf("%s: found %+v", name, found)
		}
		restore()
		l.exec(t, "DROP TABLE kept_"+c.table)
	}
	if _, found := fsck(t, l.Ledger, known); len(found) > 0 {
		t.Errorf("restored: %+v", found)
	}
}

// A head that the service's own role made up is named, and keeps nothing else from being checked.
func TestFsckLeavesOutMadeUpHeads(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"no checkpoint":    `INSERT INTO ledger.head SELECT 1, 'evil', base + size, 1, root, recorded_at, 'x' FROM ledger.head`,
		"no successor":     `INSERT INTO ledger.head SELECT 99, origin || '/99', base + size, 1, root, recorded_at, replace(checkpoint, origin, origin || '/99') FROM ledger.head`,
		"begins elsewhere": `INSERT INTO ledger.head SELECT 1, origin || '/1', base + 1, 1, root, recorded_at, replace(checkpoint, origin, origin || '/1') FROM ledger.head`,
		"nothing is in it": `INSERT INTO ledger.head SELECT 1, origin || '/1', base + size, 0, root, recorded_at, replace(checkpoint, origin, origin || '/1') FROM ledger.head`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ledgertest.New(t)
			fillKinds(t, l, 20)
			super := connect(t, l.AdminURL)
			if _, err := super.Exec(t.Context(), `ALTER TABLE ledger.contents DISABLE TRIGGER USER; UPDATE ledger.contents SET content_salt = decode(repeat('00', 16), 'hex') WHERE seq = 3`); err != nil {
				t.Fatal(err)
			}
			if _, err := connect(t, l.ServiceURL).Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
			heads, faults := fsck(t, l)
			head := slices.ContainsFunc(faults, func(f audit.Fault) bool { return f.Seq == audit.NoSeq && f.Code == audit.FaultHead })
			content := slices.ContainsFunc(faults, func(f audit.Fault) bool { return f.Seq == 3 && f.Code == audit.FaultContent })
			if !head || !content || len(faults) != 2 {
				t.Errorf("%+v, %v", heads, faults)
			}
		})
	}
}

// A check needs the key of each log, and takes an older checkpoint of any.
func TestFsckKeysAndSinceOfIncarnations(t *testing.T) {
	t.Parallel()
	l, earlier := newIncarnations(t)
	_, err := l.Store.Fsck(t.Context(), postgres.FsckOptions{
		Verifiers: []note.Verifier{l.Keys.Verifier, earlier[0]}, Progress: func(int64, int64) {},
		Fault: func(f audit.Fault) { t.Errorf("found %+v", f) },
	})
	if !errors.Is(err, postgres.ErrNoKey) || !strings.Contains(err.Error(), earlier[1].Name()) {
		t.Errorf("without the key of one: %v", err)
	}
	for n := range 3 {
		head, err := l.Store.HeadOf(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		since := ledger.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}
		check := func() []audit.Fault {
			_, found := fsck(t, l.Ledger, knowing(earlier...), func(o *postgres.FsckOptions) { o.Since = &since })
			return found
		}
		if found := check(); len(found) > 0 {
			t.Errorf("since the end of log %d: %+v", n, found)
		}
		since.Root[0] ^= 1
		if found := check(); len(found) != 1 || found[0].Code != audit.FaultSince {
			t.Errorf("log %d with another history: %+v", n, found)
		}
	}
}

// A log that forked from its last known checkpoint may hold more than that; the new log commits to the checkpoint.
func TestFsckOfAFork(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	backup, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	appendConsents(t, l.Appender, 3, 5)
	kept, _ := drill(t, l)
	restore(t, l, backup)
	appendConsents(t, l.StartAppender(t, time.Now), 100, 104) // a process that knew nothing from outside
	options, keys := drill(t, l)
	options.Previous, options.Force = kept.Previous, false
	if _, err := l.Store.OpenIncarnation(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	old := l.Keys.Verifier
	l.Keys = keys
	if head, found := fsck(t, l, knowing(old)); len(found) > 0 || head.Base != 7 {
		t.Errorf("%+v, found %+v", head, found)
	}
}
