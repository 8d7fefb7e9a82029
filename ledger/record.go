package ledger

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Prepared is an entry before it has a place: all that can be computed without knowing its seq and time.
type Prepared struct {
	meta        Meta
	metaBytes   []byte
	metaSalt    Salt
	content     []byte
	contentSalt Salt
	commitments [2]Commitment
}

// Prepare commits to a content and its meta. The length of the content is filled into meta.
func Prepare(meta Meta, content []byte, contentSalt, metaSalt Salt) Prepared {
	meta.Bytes = len(content)
	raw := meta.Encode()
	return Prepared{
		meta: meta, metaBytes: raw, metaSalt: metaSalt, content: content, contentSalt: contentSalt,
		commitments: [2]Commitment{CommitContent(contentSalt, content), CommitMeta(metaSalt, raw)},
	}
}

// Meta is the prepared entry's meta, complete.
func (p Prepared) Meta() Meta { return p.meta }

// MetaSalt is the random salt of the meta's commitment. Since it is drawn anew for each, a stored entry that has it was made
// from this very preparation, and not from another one of the same content.
func (p Prepared) MetaSalt() Salt { return p.metaSalt }

// Seal gives a prepared entry its place in a log. recordedAt is cut to microseconds.
func (p Prepared) Seal(origin string, seq int64, recordedAt time.Time) Entry {
	at := recordedAt.UTC().Truncate(time.Microsecond)
	envelope := Envelope{Content: p.commitments[0], Meta: p.commitments[1], Origin: origin, RecordedAt: at}.Encode()
	return Entry{
		Seq: seq, RecordedAt: at, Meta: p.meta, MetaBytes: p.metaBytes, MetaSalt: p.metaSalt,
		Content: p.content, ContentSalt: p.contentSalt, Envelope: envelope, LeafHash: LeafHash(envelope),
	}
}

// Entry is one record of the log as it is stored.
type Entry struct {
	Seq         int64
	RecordedAt  time.Time // UTC, microseconds; what the envelope says
	Meta        Meta
	MetaBytes   []byte
	MetaSalt    Salt
	Content     []byte // nil once erased
	ContentSalt Salt   // zero once erased
	ErasedBy    int64  // the erasure's seq, 0 when it is not known or nothing was erased; an erasure is never entry 0
	Envelope    []byte
	LeafHash    tlog.Hash
}

// Erased says whether the content and its salt were destroyed.
func (e Entry) Erased() bool { return e.Content == nil }

// ErrEntry says that the parts of an entry do not belong together.
var ErrEntry = errors.New("entry does not match its leaf")

// Check recomputes the entry from its parts: meta and content against their commitments, the envelope against its one
// spelling, the leaf hash against the envelope. An erased content is not looked at.
func (e Entry) Check() error {
	env, err := ParseEnvelope(e.Envelope)
	if err != nil {
		return err
	}
	meta, err := ParseMeta(e.MetaBytes)
	if err != nil {
		return err
	}
	switch {
	case LeafHash(e.Envelope) != e.LeafHash:
		return fmt.Errorf("%w: leaf hash", ErrEntry)
	case !env.RecordedAt.Equal(e.RecordedAt):
		return fmt.Errorf("%w: recorded_at", ErrEntry)
	case meta != e.Meta:
		return fmt.Errorf("%w: meta columns", ErrEntry)
	case env.Meta != CommitMeta(e.MetaSalt, e.MetaBytes):
		return fmt.Errorf("%w: meta commitment", ErrEntry)
	case e.Erased():
		return nil
	case env.Content != CommitContent(e.ContentSalt, e.Content):
		return fmt.Errorf("%w: content commitment", ErrEntry)
	case meta.Bytes != len(e.Content):
		return fmt.Errorf("%w: content length", ErrEntry)
	}
	if _, err := VerifyContent(e.Content); err != nil {
		return fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return nil
}
