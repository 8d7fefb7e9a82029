package evidence_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"ledgerd/internal/audit/evidence"
	"ledgerd/ledger"
)

var update = flag.Bool("update", false, "rewrite testdata/evidence-v1.zip, for a change of the form before it is released")

const golden = "evidence-v1.zip"

// A file of this version stays readable, and is what the writer makes of its entries, byte for byte.
func TestGoldenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", golden)
	b := filled(t)
	if *update {
		if err := os.WriteFile(path, b.file(b.items()...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b.passes(want, evidence.Options{})
	members := evidence.Members(want)
	manifest, err := evidence.ParseManifest(members[len(members)-2].Data)
	if err != nil {
		t.Fatal(err)
	}
	var items []evidence.Item
	again := newBook(t)
	for line := range bytes.Lines(members[0].Data) {
		i, err := evidence.ParseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		envelope, err := ledger.ParseEnvelope(i.Entry.Envelope)
		if err != nil {
			t.Fatal(err)
		}
		if i.Entry.Meta, err = ledger.ParseMeta(i.Entry.MetaBytes); err != nil {
			t.Fatal(err)
		}
		i.Entry.RecordedAt, i.Entry.LeafHash = envelope.RecordedAt, ledger.LeafHash(i.Entry.Envelope)
		again.add(i.Entry)
		items = append(items, i)
	}
	if manifest.Title != subject.Title || !bytes.Equal(again.file(items...), want) {
		t.Error("the writer makes another file of the golden file's entries: the form of v1 changed")
	}
}

// The same entries give the same file.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	b := filled(t)
	if first := b.file(b.items()...); !bytes.Equal(first, b.file(b.items()...)) {
		t.Error("two files of the same entries differ")
	}
}
