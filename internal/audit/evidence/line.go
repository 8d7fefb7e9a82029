package evidence

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// Item is one entry as it goes into a file.
type Item struct {
	Entry    ledger.Entry
	Matched  bool        // the question selects it by itself; else it is here because another entry names it
	Relation string      // what it is to the question or to that entry, see the package documentation
	Proof    []tlog.Hash // that it is in the tree of its log's checkpoint
}

// maxProof is twice as many hashes as the longest inclusion proof can have, of a tree of fewer than 2^63 leaves; a consistency
// proof may be longer by one.
const maxProof = 126

// encode appends the entry's line, without the line feed.
func (i Item) encode(b []byte) []byte {
	e := i.Entry
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"matched":`...)
	b = strconv.AppendBool(b, i.Matched)
	b = append(b, `,"relation":"`...)
	b = append(b, i.Relation...)
	b = append(b, '"')
	if e.Erased() {
		b = append(b, `,"erased_by":`...)
		b = strconv.AppendInt(b, e.ErasedBy, 10)
	}
	b = append(b, `,"proof":"`...)
	b = base64.StdEncoding.AppendEncode(b, joined(i.Proof))
	b = append(b, `","meta_salt":"`...)
	b = base64.StdEncoding.AppendEncode(b, e.MetaSalt[:])
	if !e.Erased() {
		b = append(b, `","content_salt":"`...)
		b = base64.StdEncoding.AppendEncode(b, e.ContentSalt[:])
	}
	b = append(b, `","meta":`...)
	b = append(b, e.MetaBytes...)
	b = append(b, `,"envelope":`...)
	b = append(b, e.Envelope...)
	if !e.Erased() {
		b = append(b, contentMember...)
		b = append(b, e.Content...)
	}
	return append(b, '}')
}

// contentMember begins the last member of a line. It stands in no line before that: in envelope the name has no comma before
// it, and in a string its quotes are escaped.
const contentMember = `,"content":`

func joined(hashes []tlog.Hash) []byte {
	b := make([]byte, 0, len(hashes)*tlog.HashSize)
	for _, h := range hashes {
		b = append(b, h[:]...)
	}
	return b
}

// writable says whether the entry's bytes can stand in a line at all. Those of a whole entry can.
func (i Item) writable() error {
	parts := [][]byte{i.Entry.MetaBytes, i.Entry.Envelope}
	if !i.Entry.Erased() {
		parts = append(parts, i.Entry.Content)
	}
	for _, p := range parts {
		if bytes.ContainsAny(p, "\r\n") || !jsontext.Value(p).IsValid() {
			return errors.New("what is stored of it is not the JSON that was recorded; run ledgerd fsck")
		}
	}
	if !relationForm.MatchString(i.Relation) {
		return errors.New("its relation is malformed")
	}
	return nil
}

var errLine = errors.New("the line is not in the form that evidence files have")

// parseLine reads a line in its one spelling. Nothing that it says of the entry is believed yet; of the entry just what the
// line holds is set. Its bytes alias the line, and room, which is used and given back for the next line.
func parseLine(raw, room []byte) (i Item, used []byte, err error) {
	head, content, has := bytes.Cut(raw, []byte(contentMember))
	room = append(append(room[:0], head...), '}')
	if has {
		content = bytes.TrimSuffix(content, []byte("}"))
		head = room
	}
	e := &i.Entry
	salted, erased := false, false
	d := strictjson.NewDecoder(head, strictjson.Closed)
	d.Object(
		strictjson.Req("seq", func() { e.Seq = seqOf(d) }),
		strictjson.Req("matched", func() { i.Matched = d.Bool() }),
		strictjson.Req("relation", func() { i.Relation = d.String() }),
		strictjson.Opt("erased_by", func() { e.ErasedBy, erased = seqOf(d), true }),
		strictjson.Req("proof", func() { i.Proof = proofOf(d) }),
		strictjson.Req("meta_salt", func() { e.MetaSalt = saltOf(d) }),
		strictjson.Opt("content_salt", func() { e.ContentSalt, salted = saltOf(d), true }),
		strictjson.Req("meta", func() { e.MetaBytes = d.Raw(d.Skip) }),
		strictjson.Req("envelope", func() { e.Envelope = d.Raw(d.Skip) }),
	)
	if err := d.Finish(); err != nil || salted != has || erased == has || !relationForm.MatchString(i.Relation) {
		return Item{}, room, errLine
	}
	if has {
		e.Content = content
	}
	n := len(room)
	room = i.encode(room)
	if !bytes.Equal(room[n:], raw) {
		return Item{}, room, errLine
	}
	return i, room, nil
}

func seqOf(d *strictjson.Decoder) int64 { return int64(d.Uint64() & strictjson.MaxInteger) }

func saltOf(d *strictjson.Decoder) ledger.Salt {
	raw, err := base64.StdEncoding.DecodeString(d.String())
	if err != nil || len(raw) != len(ledger.Salt{}) {
		d.Fail(strictjson.RuleValue, "a salt is 16 bytes in standard base64")
		return ledger.Salt{}
	}
	return ledger.Salt(raw)
}

func proofOf(d *strictjson.Decoder) []tlog.Hash {
	hashes, ok := split(d.String())
	if !ok {
		d.Fail(strictjson.RuleValue, "a proof is concatenated hashes in standard base64")
	}
	return hashes
}

// split reads concatenated hashes in standard base64, at most as many as a proof can have.
func split(text string) (hashes []tlog.Hash, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%tlog.HashSize != 0 || len(raw) > maxProof*tlog.HashSize {
		return nil, false
	}
	for ; len(raw) > 0; raw = raw[tlog.HashSize:] {
		hashes = append(hashes, tlog.Hash(raw))
	}
	return hashes, true
}
