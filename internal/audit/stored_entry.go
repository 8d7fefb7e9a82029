package audit

import (
	"bytes"
	"time"

	"github.com/gowebpki/jcs"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// StoredEntry is an entry as the store holds it, nothing of it believed.
type StoredEntry struct {
	Seq        int64
	RecordedAt time.Time

	Tenant, Kind, Key, TokenID         []byte // columns that repeat the meta
	Meta, MetaSalt, Envelope, LeafHash []byte
	Content, ContentSalt               []byte // nil when absent
}

// EntryCheck re-derives entries one by one. It is safe for concurrent use.
type EntryCheck struct {
	Origin   string         // of the log
	Paranoid bool           // canonicalise contents with the second encoder too
	Erased   map[int64]bool // the entries whose erasure an entry of the log states; of no other may the content be absent

	// Policies are the recorded trust policies by seq. With them each bundle's verdict is reached again under the policy and
	// time that it names; nil leaves verdicts alone.
	Policies map[int64]RecordedPolicy

	second func([]byte) ([]byte, error) // the second encoder, RFC 8785; nil for the one that there is
}

// RecordedPolicy is a trust policy and the tenant that set it: nobody is judged under another's.
type RecordedPolicy struct {
	Tenant string
	Policy *kinds.TrustPolicy
}

// Derived is what follows from a stored entry.
type Derived struct {
	Leaf       tlog.Hash   // of the stored envelope
	RecordedAt time.Time   // by the stored envelope; by the column where that is malformed
	Meta       ledger.Meta // of the stored meta, zero when that is malformed
	// Projection is what the content gives the other tables; Known is false when it can't be said, because the content was
	// erased or content or meta are not the recorded ones, which is a fault of its own.
	Projection kinds.Projection
	Known      bool
	// Judged is a context record whose verdict was reached together with other entries: see JudgedAgain. nil for all others.
	Judged  *kinds.RecordedContext
	Content ledger.Content // when Known
}

// Check recomputes an entry from its parts and derives again what was derived from it.
func (c EntryCheck) Check(e StoredEntry) (Derived, []Fault) {
	f := &faults{seq: e.Seq}
	d := Derived{Leaf: ledger.LeafHash(e.Envelope), RecordedAt: e.RecordedAt}
	if !bytes.Equal(d.Leaf[:], e.LeafHash) {
		f.add(FaultLeaf, "leaf_hash is not the hash of the envelope")
	}
	sealed := c.checkEnvelope(f, e, &d)
	var err error
	if d.Meta, err = parseMeta(e); err != nil {
		f.add(FaultMeta, "meta is not in its canonical form")
		return d, f.list
	}
	checkColumns(f, e, d.Meta)
	if content, ok := c.checkContent(f, e, d.Meta); ok && sealed {
		c.derive(f, e, content, &d)
		d.Content = content
		if d.Known && c.Policies != nil && d.Meta.Kind == kinds.ReceiptBundle.Name && !c.reproduces(e, d.Meta, content) {
			f.add(FaultVerdict, "the verifier does not reach the recorded verdict under the recorded policy and time")
		}
	}
	return d, f.list
}

// parseMeta reads the meta. There is one spelling only, so where writing it anew from the columns gives the same bytes, which
// is usual, nothing is left to parse.
func parseMeta(e StoredEntry) (ledger.Meta, error) {
	const before = `{"actor":{"role":"`
	if rest, ok := bytes.CutPrefix(e.Meta, []byte(before)); ok {
		role, _, _ := bytes.Cut(rest, []byte(`"`))
		m := ledger.Meta{
			Actor: ledger.Actor{Role: string(role), TokenID: string(e.TokenID)},
			Bytes: len(e.Content), Key: string(e.Key), Kind: string(e.Kind), Tenant: string(e.Tenant),
		}
		if bytes.Equal(m.Encode(), e.Meta) {
			return m, nil
		}
	}
	return ledger.ParseMeta(e.Meta)
}

// checkEnvelope makes the leaf again from everything that it commits to, and says whether meta and content are the ones.
func (c EntryCheck) checkEnvelope(f *faults, e StoredEntry, d *Derived) (sealed bool) {
	want := ledger.Envelope{Origin: c.Origin, RecordedAt: e.RecordedAt}
	metaSalt, metaOK := salt(e.MetaSalt)
	want.Meta = ledger.CommitMeta(metaSalt, e.Meta)
	contentSalt, contentOK := salt(e.ContentSalt)
	want.Content = ledger.CommitContent(contentSalt, e.Content)
	if metaOK && contentOK && e.Content != nil && bytes.Equal(want.Encode(), e.Envelope) {
		return true
	}
	have, err := ledger.ParseEnvelope(e.Envelope)
	if err != nil {
		f.add(FaultEnvelope, "the envelope is not in its canonical form")
		return false
	}
	d.RecordedAt = have.RecordedAt
	if have.Origin != want.Origin {
		f.add(FaultEnvelope, "the envelope is of another log")
	}
	if !have.RecordedAt.Equal(want.RecordedAt) {
		f.add(FaultColumn, "recorded_at is not the envelope's")
	}
	metaOK = metaOK && have.Meta == want.Meta
	if !metaOK {
		f.add(FaultMeta, "meta and meta_salt do not give the envelope's commitment")
	}
	if e.Content == nil {
		return false // checkContent says whether it may be absent
	}
	contentOK = contentOK && have.Content == want.Content
	if !contentOK {
		f.add(FaultContent, "content and content_salt do not give the envelope's commitment")
	}
	return metaOK && contentOK
}

// salt reads a stored salt; one of another length matches nothing.
func salt(b []byte) (ledger.Salt, bool) {
	if len(b) != len(ledger.Salt{}) {
		return ledger.Salt{}, false
	}
	return ledger.Salt(b), true
}

func checkColumns(f *faults, e StoredEntry, m ledger.Meta) {
	for _, c := range [...]struct {
		name   string
		column []byte
		meta   string
	}{{"tenant", e.Tenant, m.Tenant}, {"kind", e.Kind, m.Kind}, {"key", e.Key, m.Key}, {"token_id", e.TokenID, m.Actor.TokenID}} {
		if string(c.column) != c.meta {
			f.add(FaultColumn, c.name+" is not the meta's")
		}
	}
}

// checkContent checks a content by itself, and reads it.
func (c EntryCheck) checkContent(f *faults, e StoredEntry, m ledger.Meta) (ledger.Content, bool) {
	switch erased := c.Erased[e.Seq]; {
	case e.Content == nil && e.ContentSalt == nil && erased:
		return ledger.Content{}, false
	case e.Content == nil:
		f.add(FaultContent, "the content is absent, and no erasure entry names it")
		return ledger.Content{}, false
	case erased:
		f.add(FaultContent, "the content is there although an erasure entry names it")
	}
	if m.Bytes != len(e.Content) {
		f.add(FaultContent, "the content's length is not the meta's")
	}
	content, err := ledger.VerifyContent(e.Content)
	if err != nil {
		f.add(FaultContent, "the content is not in its canonical form")
		return content, false
	}
	if c.Paranoid && !c.canonicalTwice(e.Content) {
		f.add(FaultContent, "the second encoder gives another canonical form")
	}
	return content, true
}

// canonicalTwice asks an independent implementation of RFC 8785. Both round numbers beyond ±(2^53−1) alike, so
// VerifyContent must have refused these before.
func (c EntryCheck) canonicalTwice(content []byte) bool {
	second := c.second
	if second == nil {
		second = jcs.Transform
	}
	again, err := second(content)
	return err == nil && bytes.Equal(again, content)
}

// reproduces says whether the verifier reaches a bundle's recorded verdict again.
func (c EntryCheck) reproduces(e StoredEntry, m ledger.Meta, content ledger.Content) bool {
	b, err := kinds.ReadBundleContent(e.Seq, content)
	if err != nil {
		return false
	}
	var policy *kinds.TrustPolicy
	if seq := b.Receiver.PolicySeq; seq != nil {
		recorded := c.Policies[*seq]
		if recorded.Policy == nil || recorded.Tenant != m.Tenant {
			return false
		}
		policy = recorded.Policy
	}
	v, err := ReverifyBundle(b, policy, policy, e.RecordedAt)
	return err == nil && v.Reproduced
}

// derive asks the entry's kind what its content gives the other tables.
func (c EntryCheck) derive(f *faults, e StoredEntry, content ledger.Content, d *Derived) {
	kind := kinds.Lookup(d.Meta.Kind)
	if kind == nil {
		f.add(FaultKind, "this version knows no such kind")
		return
	}
	var err error
	if kind.IsJudged() {
		if d.Judged, err = kinds.ReadContextContent(e.Seq, kind, content); err == nil {
			d.Projection = d.Judged.Projection()
		}
	} else {
		d.Projection, err = kind.Project(content)
	}
	if err != nil {
		f.add(FaultKind, "the kind would not have recorded this content")
		return
	}
	if d.Projection.Key != "" && d.Projection.Key != d.Meta.Key {
		f.add(FaultKey, "the key is not the content's")
	}
	d.Known = true
}
