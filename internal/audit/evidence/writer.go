package evidence

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// Subject is what a file is about, as whoever asks for it says.
type Subject struct {
	Title      string
	Tenant     string
	Question   []Field // what selects the entries
	Statements []Field // what else the server says of them
}

// Opening is what is known before the first entry.
type Opening struct {
	Heads   []ledger.Head            // of every incarnation's log, the newest last; the proofs lead to their checkpoints
	Matched int64                    // entries that the question matches
	Since   *ledger.ConsistencyProof // of the newest log, nil when it was not asked for
}

// Writer writes one evidence file as its entries come, and holds one member of it in memory. It is not safe for concurrent
// use. Call Open once, Add for each entry in order of seq, then Close; after an error nothing more. Whoever reads what was
// written without Close's end has no evidence file.
type Writer struct {
	out     io.Writer
	subject Subject
	signers []note.Signer
	keys    []string

	manifest Manifest
	notes    []string // checkpoints, by incarnation
	summary  summary
	buffer   []byte // of the member of entries that is being filled
	members  []stored
	offset   int64
	last     int64 // seq
	content  int64 // bytes
}

// NewWriter makes a writer of a file about the subject. signers are the newest log's (ledger.EvidenceSigner), at least one;
// keys are its verifier keys, to be shown.
func NewWriter(out io.Writer, s Subject, keys []string, signers ...note.Signer) *Writer {
	return &Writer{out: out, subject: s, signers: signers, keys: keys, last: -1}
}

// Open says what the file is of. It writes nothing yet, so that what speaks against a file can still be answered otherwise:
// kinds.ErrTooMuch when the question matches more than MaxMatched.
func (w *Writer) Open(o Opening) error {
	newest := o.Heads[len(o.Heads)-1]
	switch {
	case o.Matched > MaxMatched:
		return kinds.ErrTooMuch
	case len(w.signers) == 0 || w.signers[0].Name() != ledger.EvidenceName(newest.Origin):
		return errors.New("signing evidence: the key's name must be that of the log's evidence")
	}
	w.manifest = Manifest{
		Format: Format, Title: w.subject.Title, Tenant: w.subject.Tenant, Question: w.subject.Question, Statements: w.subject.Statements,
		TreeSize: newest.Next(), AsOf: newest.RecordedAt.UTC().Format(ledger.TimeLayout), Matched: o.Matched,
	}
	for _, h := range o.Heads {
		keys := []string{}
		if h.Incarnation == newest.Incarnation {
			keys = append(keys, w.keys...)
		}
		w.manifest.Logs = append(w.manifest.Logs, Log{
			Incarnation: h.Incarnation, Origin: h.Origin, Base: h.Base, Size: h.Size,
			RootHash: base64.StdEncoding.EncodeToString(h.Root[:]), VerifierKeys: keys,
		})
		w.notes = append(w.notes, h.Checkpoint)
	}
	if o.Since != nil {
		w.manifest.Since = &Consistency{From: o.Since.From, Hashes: base64.StdEncoding.EncodeToString(joined(o.Since.Hashes))}
	}
	return w.manifest.check()
}

// Add appends an entry. kinds.ErrStored when what is stored of it is no entry at all; one that is merely wrong is written as
// it is, and the verifier finds it.
func (w *Writer) Add(i Item) error {
	if err := i.writable(); err != nil {
		return kinds.Unreadable(i.Entry.Seq, err)
	}
	if i.Entry.Seq <= w.last || i.Entry.Seq >= w.manifest.TreeSize {
		return fmt.Errorf("writing evidence: entry %d is not in order", i.Entry.Seq)
	}
	w.last = i.Entry.Seq
	w.content += int64(len(i.Entry.Content))
	if w.manifest.Entries++; w.manifest.Entries > MaxEntries || w.content > MaxContent {
		return errTooLarge
	}
	w.summary.add(i.Entry, i.Relation)
	w.buffer = append(i.encode(w.buffer), '\n')
	if len(w.buffer) < memberGoal {
		return nil
	}
	return w.closeEntries()
}

// closeEntries ends the member of entries that is being filled.
func (w *Writer) closeEntries() error {
	if len(w.buffer) == 0 {
		return nil
	}
	err := w.member(entriesName(len(w.members)), w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

// Close writes what is left, signs, and ends the archive.
func (w *Writer) Close() error {
	if err := w.closeEntries(); err != nil {
		return err
	}
	for n, text := range w.notes {
		if err := w.member(checkpointName(n), []byte(text)); err != nil {
			return err
		}
	}
	if err := w.member(summaryName, w.summary.html(w.manifest)); err != nil {
		return err
	}
	raw, err := w.manifest.encode()
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: noteText(w.manifest.newest().Origin, w.manifest.TreeSize, raw)}, w.signers...)
	if err != nil {
		return fmt.Errorf("signing evidence: %w", err)
	}
	if err := w.member(manifestName, raw); err != nil {
		return err
	}
	if err := w.member(noteName, signed); err != nil {
		return err
	}
	return w.directory()
}

// member writes a whole member, and puts it into the manifest, as far as that is not written yet.
func (w *Writer) member(name string, data []byte) error {
	s := stored{name: name, crc: crc32.ChecksumIEEE(data), size: int64(len(data)), offset: w.offset}
	if len(w.members) >= maxCount || s.size > MaxMember || s.end() > maxLength-maxCount*(centralLength+maxName) {
		return errTooLarge
	}
	w.members, w.offset = append(w.members, s), s.end()
	sum := sha256.Sum256(data)
	w.manifest.Members = append(w.manifest.Members, Member{Name: name, Bytes: s.size, SHA256: hex.EncodeToString(sum[:])})
	if _, err := w.out.Write(s.local()); err != nil {
		return err
	}
	_, err := w.out.Write(data)
	return err
}

func (w *Writer) directory() error {
	var b []byte
	for _, s := range w.members {
		b = append(b, s.central()...)
	}
	b = append(b, endRecord(len(w.members), int64(len(b)), w.offset)...)
	_, err := w.out.Write(b)
	return err
}
