package evidence_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ledgerd/internal/audit"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// unreadable demands that a file is refused, and that the refusal names a place.
func (b *book) unreadable(what string, file []byte, place string) {
	b.tb.Helper()
	_, err := b.verify(file, evidence.Options{})
	var e *evidence.UnreadableError
	if !errors.As(err, &e) || !strings.Contains(e.Error(), place) {
		b.tb.Errorf("%s: got %v, want a refusal that names %q", what, err, place)
	}
}

// One byte changed anywhere makes verification fail, and it says where: in a member, in its header, in the directory, at the
// end. Every byte of what is small and of the archive's own structure is tried, and of large members one in some.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	b := newBook(t) // small, since it is verified some thousand times
	b.record(tenant, b.usage(1))
	b.record(tenant, b.usage(2))
	file := b.file(b.items()...)
	b.passes(file, evidence.Options{})
	ends, members := evidence.Ends(file), evidence.Members(file)
	tried := map[string]int{}
	for at := int64(0); at < int64(len(file)); at++ {
		places, step := []string{"the archive's"}, int64(1)
		for i, e := range ends {
			header := int64(0)
			if i > 0 {
				header = ends[i-1][1]
			}
			switch name := members[i].Name; {
			case at >= header && at < e[0]:
				places = []string{name}
			case at >= e[0] && at < e[1]:
				places, step = []string{name}, max((e[1]-e[0])/100, 1)
			}
		}
		for _, flip := range []byte{1, 0x80} {
			file[at] ^= flip
			said := b.verdict(file)
			file[at] ^= flip
			if !strings.Contains(said, places[0]) {
				t.Fatalf("byte %d of %d, of %s, changed by %#x: %s", at, len(file), places[0], flip, said)
			}
			tried[places[0]]++
		}
		at += step - 1
	}
	for _, m := range members {
		if tried[m.Name] < 60 {
			t.Errorf("%s: %d changes were tried", m.Name, tried[m.Name])
		}
	}
	b.passes(file, evidence.Options{})
}

// verdict is what verifying says of a file that is wrong; "passed" of one that is not.
func (b *book) verdict(file []byte) string {
	b.tb.Helper()
	r, err := b.verify(file, evidence.Options{})
	switch {
	case err != nil:
		return err.Error()
	case r.Failed():
		return remarks(r)
	}
	return "passed"
}

func TestCutAndPadded(t *testing.T) {
	t.Parallel()
	b := filled(t)
	file := b.file(b.items()...)
	for cut := 1; cut < len(file); cut += 1 + cut/3 {
		b.unreadable(fmt.Sprintf("cut by %d bytes", cut), file[:len(file)-cut], "the archive's")
		b.unreadable(fmt.Sprintf("without its first %d bytes", cut), file[cut:], "")
	}
	b.unreadable("nothing", nil, "the archive's end")
	b.unreadable("padded behind", append(bytes.Clone(file), 0), "the archive's end")
	b.unreadable("padded before", append([]byte{0}, file...), "")
	b.unreadable("twice", append(bytes.Clone(file), file...), "")
	b.unreadable("an archive with a comment", withComment(file), "the archive's end")
}

func withComment(file []byte) []byte {
	file = append(bytes.Clone(file), "comment"...)
	binary.LittleEndian.PutUint16(file[len(file)-9:], 7)
	return file
}

// Archives that other programs unpack to something else than they say, or to more.
func TestOtherArchives(t *testing.T) {
	t.Parallel()
	b := filled(t)
	members := evidence.Members(b.file(b.items()...))
	var deflated bytes.Buffer
	w := zip.NewWriter(&deflated)
	for _, m := range members {
		f, err := w.Create(m.Name)
		if err == nil {
			_, err = f.Write(m.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bomb, err := w.Create("bomb")
	if err == nil {
		_, err = bomb.Write(make([]byte, 64<<20))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	b.unreadable("a deflated archive with a bomb", deflated.Bytes(), "the archive's directory, member 0")
	counts := bytes.Clone(b.file())
	binary.LittleEndian.PutUint16(counts[len(counts)-12:], 0xfffe)
	binary.LittleEndian.PutUint16(counts[len(counts)-14:], 0xfffe)
	b.unreadable("an absurd count", counts, "the archive's directory")
	long := bytes.Clone(b.file())
	binary.LittleEndian.PutUint32(long[18:], 0xfffffff0)
	b.unreadable("an absurd length", long, "checkpoints/0.txt")
	huge := evidence.Archive(evidence.Named{Name: "entries/000000.ndjson", Data: make([]byte, evidence.MaxMember+1)})
	b.unreadable("a member that is too large", huge, "larger than a member may be")
	b.unreadable("a long name", evidence.Archive(evidence.Named{Name: strings.Repeat("n", 65)}), "the archive's")
	b.unreadable("no manifest", evidence.Archive(members[:len(members)-2]...), "last members")
}

// Members that the format does not have, by somebody who can sign: twice, more, fewer, elsewhere, in another order.
func TestOtherMembers(t *testing.T) {
	t.Parallel()
	b := filled(t)
	file := b.file(b.items()...)
	type members = []evidence.Named
	for what, change := range map[string]func(m members) members{
		"a name twice":       func(m members) members { return append(members{m[0]}, m...) },
		"a path out":         func(m members) members { return append(members{{Name: "../../etc/passwd", Data: []byte("x")}}, m...) },
		"an absolute path":   func(m members) members { m[0].Name = "/entries/000000.ndjson"; return m },
		"a backslash":        func(m members) members { m[0].Name = `entries\000000.ndjson`; return m },
		"a folder":           func(m members) members { return append(m, evidence.Named{Name: "entries/"}) },
		"one more":           func(m members) members { return append(m, evidence.Named{Name: "run-me.exe", Data: []byte("x")}) },
		"another order":      func(m members) members { m[0], m[1] = m[1], m[0]; return m },
		"no page for people": func(m members) members { return m[:len(m)-1] },
		"no entries":         func(m members) members { return m[1:] },
	} {
		hostile := b.resigned(file, func(m []evidence.Named, _ *evidence.Manifest) []evidence.Named { return change(m) })
		r, err := b.verify(hostile, evidence.Options{})
		if err != nil || !r.Failed() || r.Check("manifest").Failed == 0 {
			t.Errorf("%s: %v\n%s", what, err, remarks(r))
		}
	}
	b.unreadable("nothing but a manifest", b.resigned(file, func([]evidence.Named, *evidence.Manifest) []evidence.Named { return nil }), "last members")
	unsigned := evidence.Members(file)
	unsigned[0].Data = bytes.Replace(unsigned[0].Data, []byte("asked-for"), []byte("asked_for"), 1)
	b.fails("a member exchanged", evidence.Archive(unsigned...), evidence.Options{}, "members", "entries/000000.ndjson")
	other := newBook(t)
	other.record(tenant, other.usage(7))
	of := evidence.Members(other.file(other.items()...))
	mixed := evidence.Members(file)
	mixed[len(mixed)-1], mixed[len(mixed)-2] = of[len(of)-1], of[len(of)-2]
	b.fails("another file's manifest", evidence.Archive(mixed...), evidence.Options{}, "manifest", "")
}

// What the manifest says of the file, and the page for people, are held against the entries.
func TestOtherManifest(t *testing.T) {
	t.Parallel()
	b := filled(t)
	file := b.file(b.items()...)
	for what, c := range map[string]struct {
		change func(m []evidence.Named, f *evidence.Manifest) []evidence.Named
		check  string
		text   string
	}{
		"another count":        {func(m []evidence.Named, f *evidence.Manifest) []evidence.Named { f.Entries++; return m }, "manifest", "it counts"},
		"more matched":         {func(m []evidence.Named, f *evidence.Manifest) []evidence.Named { f.Matched--; return m }, "manifest", "it counts"},
		"fewer than there are": {func(m []evidence.Named, f *evidence.Manifest) []evidence.Named { f.Entries--; f.Matched--; return m }, "manifest", "more entries than the manifest counts"},
		"another tenant":       {func(m []evidence.Named, f *evidence.Manifest) []evidence.Named { f.Tenant = "other"; return m }, "manifest", "of another tenant"},
		"another root": {func(m []evidence.Named, f *evidence.Manifest) []evidence.Named {
			f.Logs[0].RootHash = strings.Replace(f.Logs[0].RootHash, f.Logs[0].RootHash[:4], "AAAA", 1)
			return m
		}, "checkpoint", "another size or root"},
		"a smaller tree": {func(m []evidence.Named, f *evidence.Manifest) []evidence.Named {
			f.Logs[0].Size--
			f.TreeSize--
			return m
		}, "inclusion", "beyond the tree size"},
		"a lie on the page": {func(m []evidence.Named, _ *evidence.Manifest) []evidence.Named {
			m[len(m)-1].Data = bytes.Replace(m[len(m)-1].Data, []byte("<h1>"), []byte("<h1>All is well. "), 1)
			return m
		}, "summary", "don't believe"},
		"a statement of another file": {func(m []evidence.Named, f *evidence.Manifest) []evidence.Named {
			f.Statements[0].Value = "upheld"
			return m
		}, "summary", "don't believe"},
		"a line in another spelling": {func(m []evidence.Named, _ *evidence.Manifest) []evidence.Named {
			m[0].Data = bytes.Replace(m[0].Data, []byte(`{"seq":`), []byte(`{ "seq":`), 1)
			return m
		}, "manifest", "line 1"},
		"a line that is cut": {func(m []evidence.Named, _ *evidence.Manifest) []evidence.Named {
			m[0].Data = m[0].Data[:len(m[0].Data)-1]
			return m
		}, "manifest", "line 11"},
		"an empty line": {func(m []evidence.Named, _ *evidence.Manifest) []evidence.Named {
			m[0].Data = append(m[0].Data, '\n')
			return m
		}, "manifest", "line 12"},
		"no checkpoint": {func(m []evidence.Named, _ *evidence.Manifest) []evidence.Named { m[1].Data = nil; return m }, "checkpoint", "checkpoints/0.txt"},
	} {
		b.fails(what, b.resigned(file, c.change), evidence.Options{}, c.check, c.text)
	}
	for what, change := range map[string]func(f *evidence.Manifest){
		"another version":  func(f *evidence.Manifest) { f.Format = "ledgerd-evidence/v2" },
		"a negative count": func(f *evidence.Manifest) { f.Matched = -1 },
		"an absurd count":  func(f *evidence.Manifest) { f.Entries = evidence.MaxEntries + 1 },
		"no log":           func(f *evidence.Manifest) { f.Logs = nil },
		"a gap":            func(f *evidence.Manifest) { f.Logs[0].Base = 1 },
		"an absurd tree":   func(f *evidence.Manifest) { f.TreeSize = 1 << 62 },
		"a flood of text":  func(f *evidence.Manifest) { f.Title = strings.Repeat("x", 1<<20) },
	} {
		b.unreadable(what, b.resigned(file, func(m []evidence.Named, f *evidence.Manifest) []evidence.Named { change(f); return m }), "manifest.json")
	}
	spaced := evidence.Members(file)
	n := len(spaced)
	spaced[n-2].Data = append(bytes.Clone(spaced[n-2].Data), ' ')
	b.unreadable("a manifest in another spelling", evidence.Archive(spaced...), "manifest.json")
}

// What people see is text: nothing that somebody recorded is markup, and nothing is fetched.
func TestSummaryIsInert(t *testing.T) {
	t.Parallel()
	b := filled(t)
	var page string
	for _, m := range evidence.Members(b.file(b.items()...)) {
		if m.Name == "summary.html" {
			page = string(m.Data)
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;") {
		t.Error("what was asked is not shown, or not escaped")
	}
	for _, s := range []string{"<script", "http:", "https:", "src=", "href=", "url(", "@import", "<b>"} {
		if strings.Contains(page, s) {
			t.Errorf("the page has %s", s)
		}
	}
}

// Millions of lines that are none are not gone through one by one.
func TestFloodOfLines(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.record(tenant, b.usage(1))
	file := b.resigned(b.file(b.items()...), func(members []evidence.Named, _ *evidence.Manifest) []evidence.Named {
		members[0].Data = append(members[0].Data, bytes.Repeat([]byte("\n"), 1<<20)...)
		return members
	})
	r, err := b.verify(file, evidence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Check("manifest"); c.Result != audit.Failed || c.Failed > 2*evidence.MaxRemarks {
		t.Errorf("%+v", c)
	}
}

// Disputes that name the same entries again and again are not all decided again, and those that are not are not passed.
func TestFloodOfDisputes(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.record(tenant, b.usage(1))
	for range 5 {
		a := ledgertest.Sample(t, &kinds.Dispute, len(b.entries))
		b.record(tenant, b.accept(&kinds.Dispute, string(a.Content.Artifact), "", kinds.Env{}))
	}
	r, err := b.verify(b.file(b.items()...), evidence.Options{}.Again(2))
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Check("recorded-verdict"); c.Passed+c.Failed != 2 || c.NotCheckable != 3 {
		t.Errorf("%+v\n%s", c, remarks(r))
	}
}
