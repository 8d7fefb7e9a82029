package evidence_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

func TestWholeFilePasses(t *testing.T) {
	t.Parallel()
	b := filled(t)
	r := b.passes(b.file(b.items()...), evidence.Options{})
	for _, c := range r.Checks {
		if c.Result != audit.Passed || c.Passed == 0 {
			t.Errorf("%+v", c)
		}
	}
	if c := r.Check("content"); len(r.Checks) != 15 || c.NotCheckable != 1 || r.Entries != b.size() || r.Check("recorded-verdict").Passed != 2 {
		t.Errorf("%d checks, %d entries, %+v, %+v", len(r.Checks), r.Entries, c, r.Check("recorded-verdict"))
	}
	if len(r.Remarks) != 1 || *r.Remarks[0].Seq != 2 || !strings.HasPrefix(r.Remarks[0].Place, "entries/000000.ndjson, line 3") {
		t.Errorf("remarks %s", remarks(r))
	}
	for _, code := range []string{"completeness", "consent", "freshness", "claimed-by-poster", "verifier-key", "erased-content"} {
		if !slices.ContainsFunc(r.Limits, func(l audit.Limit) bool { return l.Code == code }) {
			t.Errorf("it does not say that it does not show %s", code)
		}
	}
	empty := b.passes(b.file(), evidence.Options{})
	if empty.Entries != 0 || empty.Manifest.TreeSize != b.size() {
		t.Errorf("an empty file: %+v", empty)
	}
}

// Entries as large as any may be, one behind the other, fit into members.
func TestLargestEntries(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.record(tenant, b.usage(1))
	for range 4 {
		room := kinds.Conflict.ContentLimit() - 1<<10
		b.record(tenant, b.accept(&kinds.Conflict, fmt.Sprintf(`{"kind":"usage-report","key":"req-1","claim":"","held_by":0,"ordinal":%d,"artifact":%q,"context":{}}`, b.size(), strings.Repeat("x", room)), "", kinds.Env{}))
		b.record(tenant, b.usage(int(b.size()+1)))
	}
	if r := b.passes(b.file(b.items()...), evidence.Options{}); r.Entries != 9 {
		t.Errorf("%d entries", r.Entries)
	}
}

// What an entry names and the file does not have is said, and never taken for passed.
func TestAbsentReferences(t *testing.T) {
	t.Parallel()
	b := filled(t)
	all := b.items()
	for what, c := range map[string]struct {
		items []evidence.Item
		check string
	}{
		"a bundle without its policy":   {all[4:5], "recorded-verdict"},
		"an assembly without its parts": {all[8:9], "recorded-verdict"},
		"an erased one and no erasure":  {all[2:3], "erasure"},
		"a conflict alone":              {all[9:10], "reference"},
	} {
		r := b.passes(b.file(c.items...), evidence.Options{})
		if got := r.Check(c.check); got.Result != audit.NotCheckable {
			t.Errorf("%s: %s is %+v\n%s", what, c.check, got, remarks(r))
		}
	}
}

// What is wrong in the ledger itself, or was made wrong by whoever holds the log's key, is found by what the entries say.
func TestWrongEntriesFail(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change      func(b *book) []evidence.Item
		check, text string
	}{
		"a changed content": {func(b *book) []evidence.Item {
			all := b.items()
			all[1].Entry.Content = bytes.Replace(all[1].Entry.Content, []byte("req-1"), []byte("req-9"), 1)
			return all
		}, "content", "entries/000000.ndjson, line 2"},
		"a changed meta": {func(b *book) []evidence.Item {
			all := b.items()
			all[1].Entry.MetaBytes = bytes.Replace(all[1].Entry.MetaBytes, []byte("tok_1"), []byte("tok_2"), 1)
			return all
		}, "meta", "line 2"},
		"an envelope of another log": {func(b *book) []evidence.Item {
			b.origin = "test.example/other"
			b.record(tenant, b.usage(9))
			b.origin = origin
			return b.items()
		}, "leaf", "of another log"},
		"two contents swapped": {func(b *book) []evidence.Item {
			all := b.items()
			all[1].Entry.Content, all[3].Entry.Content = all[3].Entry.Content, all[1].Entry.Content
			return all
		}, "content", "line 4"},
		"two proofs swapped": {func(b *book) []evidence.Item {
			all := b.items()
			all[1].Proof, all[3].Proof = all[3].Proof, all[1].Proof
			return all
		}, "inclusion", "line 2"},
		"an entry in the place of another": {func(b *book) []evidence.Item {
			all := b.items()
			all[1].Entry.Seq = 2
			return all[:2]
		}, "inclusion", "does not show its leaf at its place"},
		"another tenant's entry": {func(b *book) []evidence.Item {
			b.record("other", b.usage(9))
			return b.items()
		}, "manifest", "of another tenant"},
		"an arithmetic that no ledger accepts": {func(b *book) []evidence.Item {
			a := b.usage(9)
			a.Content.Artifact = bytes.Replace(a.Content.Artifact, []byte(`"budget_consumed":9`), []byte(`"budget_consumed":8`), 1)
			b.record(tenant, a)
			return b.items()
		}, "kind", "would not have recorded"},
		"a key that is not the content's": {func(b *book) []evidence.Item {
			a := b.usage(9)
			a.Key = "req-8"
			b.record(tenant, a)
			return b.items()
		}, "kind", "key"},
		"one key twice": {func(b *book) []evidence.Item {
			b.record(tenant, b.usage(1))
			return b.items()
		}, "order", "has the kind and key of entry 1"},
		"a verdict that is not reached": {func(b *book) []evidence.Item {
			e := b.entries[4]
			c, _ := ledger.ParseContent(e.Content)
			c.Receiver = bytes.Replace(c.Receiver, []byte(`"valid"`), []byte(`"indeterminate"`), 1)
			b.record(tenant, &kinds.Accepted{Kind: &kinds.ReceiptBundle, Key: e.Meta.Key + "x", Content: c})
			return b.items()
		}, "recorded-verdict", "recorded policy"},
		"a verdict on an assembly that is not reached": {func(b *book) []evidence.Item {
			c, _ := ledger.ParseContent(b.entries[8].Content)
			c.Receiver = bytes.Replace(c.Receiver, []byte(`"verdict":"verified"`), []byte(`"verdict":"indeterminate"`), 1)
			b.record(tenant, &kinds.Accepted{Kind: &kinds.ContextAssembly, Key: "x", Content: c})
			return b.items()
		}, "recorded-verdict", "does not reach"},
		"a reference to a later entry": {func(b *book) []evidence.Item {
			b.record(tenant, b.accept(&kinds.Conflict, `{"kind":"usage-report","key":"req-1","claim":"","held_by":999,"ordinal":1,"artifact":{},"context":{}}`, "", kinds.Env{}))
			return b.items()
		}, "reference", "which is not before it"},
		"an erasure of what is there": {func(b *book) []evidence.Item {
			b.record(tenant, b.accept(&kinds.Erasure, `{"reason":"r","seqs":[3]}`, "", kinds.Env{}))
			return b.items()
		}, "erasure", "its content is there"},
		"an absence that the erasure does not name": {func(b *book) []evidence.Item {
			b.entries[3] = erased(b.entries[3], 10)
			return b.items()
		}, "erasure", "does not name it"},
		"an erasure of what is never erased": {func(b *book) []evidence.Item {
			b.entries[0] = erased(b.entries[0], b.size())
			b.record(tenant, b.accept(&kinds.Erasure, `{"reason":"r","seqs":[0]}`, "", kinds.Env{}))
			return b.items()
		}, "erasure", "never erased"},
		"time that goes back": {func(b *book) []evidence.Item {
			begin := b.entries[b.size()-1].RecordedAt
			e := ledger.Prepare(b.entries[1].Meta, b.entries[1].Content, salt("x", 1), salt("y", 1)).Seal(origin, b.size(), begin.AddDate(-1, 0, 0))
			b.add(e)
			return b.items()
		}, "order", "recorded before the entry before it"},
		"a name that is reserved for another value": {func(b *book) []evidence.Item {
			snapshot := ledgertest.NewTurn(t, 2).Snapshot
			snapshot["turn_id"] = ledgertest.NewTurn(t, 1).ID
			ledgertest.Seal(t, snapshot, "tyrum.c0.binding-snapshot.v1", "snapshot_digest")
			b.record(tenant, b.accept(&kinds.ContextSnapshot, string(ledgertest.JSON(t, snapshot)), "", kinds.Env{}))
			return b.items()
		}, "claim", "for another value"},
	} {
		b := filled(t)
		b.fails(what, b.file(c.change(b)...), evidence.Options{}, c.check, c.text)
	}
}

// What was billed comes with the usage that it bills, and no line is billed twice.
func TestBilled(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.record(tenant, b.usage(5))
	b.record(tenant, b.usage(6))
	intent := b.intent(0, 5)
	b.record(tenant, intent)
	outcome, err := kinds.NewBillingOutcome(billing.Outcome{Intent: 2, Identifier: intent.Key, Number: 1, State: billing.Parked, Cause: billing.ByRefusal})
	if err != nil {
		t.Fatal(err)
	}
	b.record(tenant, outcome)
	b.record(tenant, b.intent(1, 6))
	r := b.passes(b.file(b.items()...), evidence.Options{})
	if r.Check("reference").Passed != 3 || r.Check("claim").Passed != 2 {
		t.Errorf("%+v %+v", r.Check("reference"), r.Check("claim"))
	}
	b.record(tenant, b.intent(1, 7))
	b.fails("one line twice", b.file(b.items()...), evidence.Options{}, "claim", "entry 1 is billed by it and by entry 4 already")
}

// intent bills the line of an entry.
func (b *book) intent(seq, tokens int64) *kinds.Accepted {
	b.tb.Helper()
	c, err := billing.ParseConfig([]byte(ledgertest.BillingArtifact("customer")))
	if err != nil {
		b.tb.Fatal(err)
	}
	line := billing.Line{Seq: seq, ProviderID: "north-llm", AsOf: ledgertest.BillingStart.Add(time.Hour), Tokens: tokens}
	made := billing.Make(billing.Ask{Origin: origin, Revision: 1, Config: c, Mapping: c.Customers[0], Lines: []billing.Line{line}, Now: ledgertest.BillingStart.AddDate(0, 0, 2)})
	a, err := kinds.NewBillingIntent(made.Intents[0])
	if err != nil {
		b.tb.Fatal(err)
	}
	return a
}

// A key of another log, an old key, one too few.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := filled(t)
	file := b.file(b.items()...)
	other, same := newKey(t, "test.example/other", "o"), newKey(t, origin, "s")
	b.fails("another log's key", file, evidence.Options{Keys: []string{other.vkey}}, "signature", "no key was given")
	b.fails("another key of the same name", file, evidence.Options{Keys: []string{same.vkey}}, "checkpoint", "not signed by a given key")
	b.fails("another key of the same name", file, evidence.Options{Keys: []string{same.vkey}}, "inclusion", "could not be verified")
	b.passes(file, evidence.Options{Keys: []string{same.vkey, b.key.vkey, other.vkey}})
	for _, keys := range [][]string{{}, {"x"}, {b.key.vkey, b.key.vkey}} {
		if _, err := b.verify(file, evidence.Options{Keys: append([]string{}, keys...)}); !errors.Is(err, evidence.ErrOptions) {
			t.Errorf("keys %q: %v", keys, err)
		}
	}
}

// The caller's own checkpoint.
func TestOwnCheckpoint(t *testing.T) {
	t.Parallel()
	b := filled(t)
	from := b.size() - 3
	proof := &ledger.ConsistencyProof{From: from, To: b.size()}
	var err error
	if proof.Hashes, err = tlog.ProveTree(b.size(), from, b.reader()); err != nil {
		t.Fatal(err)
	}
	heads := []ledger.Head{b.headAt(b.size())}
	plain, proven := b.file(b.items()...), b.fileOf(evidence.Opening{Heads: heads, Since: proof}, b.items()...)
	own := func(size int64) []byte { return []byte(b.headAt(size).Checkpoint) }
	for what, c := range map[string]struct {
		file, own []byte
		want      audit.Result
	}{
		"the same":                     {plain, own(b.size()), audit.Passed},
		"older, with a proof":          {proven, own(from), audit.Passed},
		"older, without":               {plain, own(from), audit.NotCheckable},
		"older than the proof's begin": {proven, own(from - 1), audit.NotCheckable},
	} {
		if r := b.passes(c.file, evidence.Options{Checkpoint: c.own}); r.Check("consistency").Result != c.want {
			t.Errorf("%s: %+v", what, r.Check("consistency"))
		}
	}
	sign := func(k logKey, c ledger.Checkpoint) []byte {
		text, err := c.Sign(k.signer)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	fork := heads[0].Root
	fork[0] ^= 1
	b.fails("a fork of the same size", plain, evidence.Options{Checkpoint: sign(b.key, ledger.Checkpoint{Origin: origin, Size: b.size(), Root: fork})}, "consistency", "FORK")
	b.fails("a fork before", proven, evidence.Options{Checkpoint: sign(b.key, ledger.Checkpoint{Origin: origin, Size: from, Root: fork})}, "consistency", "FORK")
	later := sign(b.key, ledger.Checkpoint{Origin: origin, Size: b.size() + 1, Root: fork})
	if r := b.passes(plain, evidence.Options{Checkpoint: later}); r.Check("consistency").Result != audit.NotCheckable || !strings.Contains(remarks(r), "newer than the file") {
		t.Errorf("a later one: %s", remarks(r))
	}
	other := newKey(t, "test.example/other", "o")
	text := sign(other, ledger.Checkpoint{Origin: "test.example/other", Size: 1, Root: fork})
	b.fails("of another log", plain, evidence.Options{Keys: []string{b.key.vkey, other.vkey}, Checkpoint: text}, "consistency", "knows nothing of")
	for what, text := range map[string][]byte{"unsigned": bytes.Replace(own(from), []byte(fmt.Sprint(from)), []byte("1"), 1), "nothing": []byte("x"), "of a log without key": text} {
		if _, err := b.verify(plain, evidence.Options{Checkpoint: text}); !errors.Is(err, evidence.ErrOptions) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// After a restore there are two logs: each entry is proven in its own, with its own key.
func TestTwoIncarnations(t *testing.T) {
	t.Parallel()
	first := filled(t)
	second := &book{tb: t, key: newKey(t, origin+"/1", "2"), origin: origin + "/1", n: 1, base: first.size()}
	signed, err := ledger.OpenCheckpoint([]byte(first.headAt(first.size()).Checkpoint), origin, verifiersOf(t, origin, first.key.vkey)...)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := kinds.NewIncarnation(1, "a disk was lost", signed, first.headAt(first.size()))
	if err != nil {
		t.Fatal(err)
	}
	second.record("", opened)
	second.record(tenant, second.usage(50))
	o := evidence.Opening{Heads: []ledger.Head{first.headAt(first.size()), second.headAt(second.size())}}
	file := second.fileOf(o, append(first.items(), second.items()...)...)
	r := second.passes(file, evidence.Options{Keys: []string{first.key.vkey, second.key.vkey}})
	if r.Entries != first.size()+2 || r.Check("checkpoint").Passed != 2 || r.Check("inclusion").Passed != r.Entries {
		t.Errorf("%d entries, %+v", r.Entries, r.Checks)
	}
	second.fails("without the old key", file, evidence.Options{}, "inclusion", "could not be verified")
	later := second.passes(second.fileOf(o, second.items()...), evidence.Options{})
	if c := later.Check("checkpoint"); c.Passed != 1 || c.NotCheckable != 1 {
		t.Errorf("no entries of the old log: %+v", c)
	}
	own := evidence.Options{Keys: []string{first.key.vkey, second.key.vkey}, Checkpoint: []byte(first.headAt(first.size()).Checkpoint)}
	if r := second.passes(file, own); r.Check("consistency").Result != audit.Passed {
		t.Errorf("a checkpoint of the old log: %s", remarks(r))
	}
}
