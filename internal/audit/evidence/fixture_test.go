package evidence_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

const (
	origin = "test.example/log"
	tenant = "acme"
)

var begin = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)

// logKey is a key that is the same in every run.
type logKey struct {
	vkey             string
	signer, evidence note.Signer
}

func newKey(tb testing.TB, name, seed string) (k logKey) {
	tb.Helper()
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, ed25519.SeedSize)[:ed25519.SeedSize]))
	vkey, err := note.NewEd25519VerifierKey(name, private.Public().(ed25519.PublicKey))
	if err != nil {
		tb.Fatal(err)
	}
	skey := fmt.Sprintf("PRIVATE+KEY+%s+%s+%s", name, strings.SplitN(vkey, "+", 3)[1], base64.StdEncoding.EncodeToString(append([]byte{1}, private.Seed()...)))
	k.vkey = vkey
	if k.signer, err = note.NewSigner(skey); err != nil {
		tb.Fatal(err)
	}
	if k.evidence, err = ledger.EvidenceSigner(skey); err != nil {
		tb.Fatal(err)
	}
	return k
}

// book is a ledger in memory: one log, whose entries, salts and times are the same in every run.
type book struct {
	tb      testing.TB
	key     logKey
	origin  string
	n       int   // incarnation
	base    int64 // seq of the first entry
	entries []ledger.Entry
	hashes  []tlog.Hash
}

func newBook(tb testing.TB) *book {
	tb.Helper()
	return &book{tb: tb, key: newKey(tb, origin, "k"), origin: origin}
}

func salt(of string, seq int64) ledger.Salt {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", of, seq))
	return ledger.Salt(sum[:16])
}

// record appends what was accepted.
func (b *book) record(of string, a *kinds.Accepted) ledger.Entry {
	b.tb.Helper()
	seq := b.base + int64(len(b.entries))
	key := a.Key
	if key == "" {
		key = fmt.Sprintf("key-%d", seq)
	}
	meta := ledger.Meta{Actor: ledger.Actor{Role: "host", TokenID: "tok_1"}, Key: key, Kind: a.Kind.Name, Tenant: of}
	e := ledger.Prepare(meta, a.Content.Encode(), salt("content", seq), salt("meta", seq)).Seal(b.origin, seq, begin.Add(time.Duration(seq)*time.Second))
	b.add(e)
	return e
}

func (b *book) add(e ledger.Entry) {
	b.tb.Helper()
	hashes, err := tlog.StoredHashesForRecordHash(int64(len(b.entries)), e.LeafHash, b.reader())
	if err != nil {
		b.tb.Fatal(err)
	}
	b.entries, b.hashes = append(b.entries, e), append(b.hashes, hashes...)
}

func (b *book) reader() tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = b.hashes[x]
		}
		return out, nil
	}
}

// accept makes a submission acceptable at the book's time.
func (b *book) accept(k *kinds.Kind, artifact, context string, env kinds.Env) *kinds.Accepted {
	b.tb.Helper()
	s := kinds.Submission{Artifact: []byte(artifact), Key: fmt.Sprintf("%s-%d", k.Name, len(b.entries))}
	if context != "" {
		s.Context = []byte(context)
	}
	if env.Now.IsZero() {
		env.Now = begin
	}
	var err error
	if env.Needs, err = k.Needs(s); err != nil {
		b.tb.Fatalf("%s: %v", k.Name, err)
	}
	a, err := k.Accept(s, env)
	if err != nil {
		b.tb.Fatalf("%s: %v", k.Name, err)
	}
	return a
}

// usage is the n-th usage report.
func (b *book) usage(n int) *kinds.Accepted {
	b.tb.Helper()
	return b.accept(&kinds.UsageReport, fmt.Sprintf(`{"budget_requested":2000,"budget_consumed":%d,"as_of":"2026-11-30T14:59:00Z","providers":[`+
		`{"provider_id":"north-llm","frames_served":1,"frames_rejected":0,"token_cost":%[1]d,"served_frames":[{"frame":{"provider_id":"north-llm","frame_id":"page/%[1]d"},"token_cost":%[1]d}]}]}`, n),
		fmt.Sprintf(`{"request_id":"req-%d","turn_id":"turn-%[1]d","customer_id":"<b>&\u202ecustomer"}`, n), kinds.Env{})
}

// filled has entries of kinds that name each other: a policy and a bundle under it, a turn, a conflict, an erased report and
// its erasure.
func filled(tb testing.TB) *book {
	tb.Helper()
	b := newBook(tb)
	policy := ledgertest.SamplePolicy(tb)
	policy.Key = "1"
	b.record(tenant, policy)
	for n := range 3 {
		b.record(tenant, b.usage(n+1))
	}
	bundle := ledgertest.Sample(tb, &kinds.ReceiptBundle, 1)
	read, err := kinds.ReadTrustPolicy(b.entries[0])
	if err != nil {
		tb.Fatal(err)
	}
	b.record(tenant, b.accept(&kinds.ReceiptBundle, string(bundle.Content.Artifact), `{"request_id":"req-1"}`, kinds.Env{Policy: read}))
	b.recordTurn()
	b.record(tenant, b.accept(&kinds.Conflict, `{"kind":"usage-report","key":"req-1","claim":"","held_by":1,"ordinal":1,"artifact":{},"context":{}}`, "", kinds.Env{}))
	b.entries[2] = erased(b.entries[2], int64(len(b.entries)))
	b.record(tenant, b.accept(&kinds.Erasure, `{"reason":"the person asked","seqs":[2]}`, "", kinds.Env{}))
	return b
}

func erased(e ledger.Entry, by int64) ledger.Entry {
	e.Content, e.ContentSalt, e.ErasedBy = nil, ledger.Salt{}, by
	return e
}

// recordTurn records the parts of a turn's first assembly, and the assembly with the verdict that they give.
func (b *book) recordTurn() {
	b.tb.Helper()
	turn := ledgertest.NewTurn(b.tb, 1)
	part := func(k *kinds.Kind, v any) *kinds.ContextPart {
		e := b.record(tenant, b.accept(k, string(ledgertest.JSON(b.tb, v)), "", kinds.Env{}))
		c, err := ledger.ParseContent(e.Content)
		if err != nil {
			b.tb.Fatal(err)
		}
		return &kinds.ContextPart{Seq: e.Seq, RecordedAt: e.RecordedAt, Artifact: c.Artifact}
	}
	p := &kinds.ContextParts{Profile: part(&kinds.ContextProfile, turn.Profile), Snapshot: part(&kinds.ContextSnapshot, turn.Snapshot), Plan: part(&kinds.ContextPlan, turn.Plans[0])}
	p.Seen, p.Revisions = []kinds.ContextPart{*p.Snapshot}, []kinds.ContextPart{*p.Profile}
	b.record(tenant, b.accept(&kinds.ContextAssembly, string(ledgertest.JSON(b.tb, turn.Assemblies[0])), "", kinds.Env{Context: p}))
}

func (b *book) size() int64 { return int64(len(b.entries)) }

// headAt is the log's state after its first size entries.
func (b *book) headAt(size int64) ledger.Head {
	b.tb.Helper()
	root, err := tlog.TreeHash(size, b.reader())
	if err != nil {
		b.tb.Fatal(err)
	}
	h := ledger.Head{Incarnation: b.n, Origin: b.origin, Base: b.base, Size: size, Root: root, RecordedAt: begin.Add(time.Duration(b.base+size-1) * time.Second)}
	text, err := ledger.Checkpoint{Origin: b.origin, Size: size, Root: root}.Sign(b.key.signer)
	if err != nil {
		b.tb.Fatal(err)
	}
	h.Checkpoint = string(text)
	return h
}

// item is an entry with its proof in the tree of the given size.
func (b *book) item(index, size int64) evidence.Item {
	b.tb.Helper()
	proof, err := tlog.ProveRecord(size, index, b.reader())
	if err != nil {
		b.tb.Fatal(err)
	}
	return evidence.Item{Entry: b.entries[index], Matched: true, Relation: evidence.AskedFor, Proof: proof}
}

// items are all entries.
func (b *book) items() (list []evidence.Item) {
	for i := range b.entries {
		list = append(list, b.item(int64(i), b.size()))
	}
	return list
}

var subject = evidence.Subject{
	Title: "Evidence", Tenant: tenant, Question: []evidence.Field{{Name: "asked as", Value: "auditor"}, {Name: "customer_id", Value: "<script>alert(1)</script>"}},
	Statements: []evidence.Field{{Name: "verdict", Value: "explained"}},
}

// file writes an evidence file of the items.
func (b *book) file(items ...evidence.Item) []byte {
	b.tb.Helper()
	return b.fileOf(evidence.Opening{Heads: []ledger.Head{b.headAt(b.size())}}, items...)
}

func (b *book) fileOf(o evidence.Opening, items ...evidence.Item) []byte {
	b.tb.Helper()
	var out bytes.Buffer
	w := evidence.NewWriter(&out, subject, []string{b.key.vkey}, b.key.evidence)
	for _, i := range items {
		if i.Matched {
			o.Matched++
		}
	}
	if err := w.Open(o); err != nil {
		b.tb.Fatal(err)
	}
	for _, i := range items {
		if err := w.Add(i); err != nil {
			b.tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.tb.Fatal(err)
	}
	return out.Bytes()
}

// resigned lets a test change members of a file, as somebody could who has the log's key: the manifest is made to fit them and
// signed anew.
func (b *book) resigned(file []byte, change func(members []evidence.Named, m *evidence.Manifest) []evidence.Named) []byte {
	b.tb.Helper()
	members := evidence.Members(file)
	n := len(members)
	m, err := evidence.ParseManifest(members[n-2].Data)
	if err != nil {
		b.tb.Fatal(err)
	}
	members = change(slices.Clone(members[:n-2]), &m)
	m.Members = nil
	for _, x := range members {
		sum := sha256.Sum256(x.Data)
		m.Members = append(m.Members, evidence.Member{Name: x.Name, Bytes: int64(len(x.Data)), SHA256: hex.EncodeToString(sum[:])})
	}
	raw, err := m.Encode()
	if err != nil {
		b.tb.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: evidence.NoteText(b.origin, m.TreeSize, raw)}, b.key.evidence)
	if err != nil {
		b.tb.Fatal(err)
	}
	return evidence.Archive(append(members, evidence.Named{Name: "manifest.json", Data: raw}, evidence.Named{Name: "manifest.note", Data: signed})...)
}

func (b *book) verify(file []byte, o evidence.Options) (evidence.Report, error) {
	b.tb.Helper()
	if o.Keys == nil {
		o.Keys = []string{b.key.vkey}
	}
	return evidence.Verify(b.tb.Context(), bytes.NewReader(file), int64(len(file)), o)
}

// passes demands that nothing failed.
func (b *book) passes(file []byte, o evidence.Options) evidence.Report {
	b.tb.Helper()
	r, err := b.verify(file, o)
	if err != nil {
		b.tb.Fatal(err)
	}
	if r.Failed() {
		b.tb.Fatalf("it failed:\n%s", remarks(r))
	}
	return r
}

// fails demands that a check failed, with a remark that has some text.
func (b *book) fails(what string, file []byte, o evidence.Options, check, text string) {
	b.tb.Helper()
	r, err := b.verify(file, o)
	if err != nil {
		b.tb.Errorf("%s: %v", what, err)
		return
	}
	if !strings.Contains(remarks(r), `"check":"`+check+`","result":"failed"`) || !strings.Contains(remarks(r), text) {
		b.tb.Errorf("%s: want %s with %q, got:\n%s", what, check, text, remarks(r))
	}
}

func remarks(r evidence.Report) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range r.Remarks {
		_ = e.Encode(m) // a Builder takes everything
	}
	return b.String()
}

func verifiersOf(tb testing.TB, name string, keys ...string) []note.Verifier {
	tb.Helper()
	list, err := ledger.ParseVerifierKeys(name, keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}
