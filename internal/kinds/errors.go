package kinds

import (
	"errors"
	"fmt"

	"ledgerd/ledger"
)

// What the store answers. Adapters wrap driver errors into these at one place; api maps each to one status.
var (
	// ErrNotFound: there is no such thing, or the asker may not know of it.
	ErrNotFound = errors.New("not found")
	// ErrExists: the name is taken.
	ErrExists = errors.New("it exists already")
	// ErrBusy: the append queue is full; nothing was recorded, the same request may be sent again shortly.
	ErrBusy = errors.New("the append queue is full")
	// ErrUnavailable: the store can't be reached; whether an append took effect is unknown, the same request may be sent
	// again and is recorded at most once.
	ErrUnavailable = errors.New("the store is not reachable")
	// ErrReadOnly: the log refuses to sign because its state and memory or an outside checkpoint disagree.
	ErrReadOnly = errors.New("the log is read-only: it could not be verified")
	// ErrNotRecorded: another submission of the same all-or-nothing group was refused.
	ErrNotRecorded = errors.New("another submission of the group was refused")
	// ErrStored: what the ledger itself holds can't be read. See Unreadable.
	ErrStored = errors.New("a stored entry can't be read")
	// ErrTooMuch: the question would read more than one answer may hold.
	ErrTooMuch = errors.New("the question covers too much for one answer")
)

// ConflictError refuses a submission because another one holds its key, or a name that it claims.
type ConflictError struct {
	Seq   int64  // the entry that holds it; -1 when it is of the same refused group and was not recorded either
	Space string // "" for the entry's key, else the claim's space
	Kept  bool   // the submission is kept as an entry of kind conflict
}

func (e *ConflictError) Error() string {
	if e.Space == "" {
		return fmt.Sprintf("the key is held by entry %d with another content", e.Seq)
	}
	return fmt.Sprintf("the %s is held by entry %d with another value", e.Space, e.Seq)
}

// ErasedError says that the content of an entry was destroyed. What is left proves that it existed.
type ErasedError struct {
	Seq        int64
	ErasureSeq int64  // the entry that says so
	Envelope   []byte // the leaf, nil where the entry was not asked for
}

func (e *ErasedError) Error() string { return fmt.Sprintf("the content of entry %d was erased", e.Seq) }

// TooLargeError refuses a submission by its size.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string { return fmt.Sprintf("it exceeds %d bytes", e.Limit) }

// ErasedEntry is the answer to who asks for an erased entry: its envelope and who erased it.
func ErasedEntry(e ledger.Entry) *ErasedError {
	return &ErasedError{Seq: e.Seq, ErasureSeq: e.ErasedBy, Envelope: e.Envelope}
}

// Unreadable says that an entry can't be read as what it was recorded as, which is ErrStored. It keeps of err the text alone,
// for the server's log: the parsers and checks that read entries read requests too, and their errors would blame the asker. A
// nil error and *ErasedError stay what they are.
func Unreadable(seq int64, err error) error {
	var erased *ErasedError
	if err == nil || errors.As(err, &erased) {
		return err
	}
	return fmt.Errorf("%w: entry %d: %s", ErrStored, seq, err.Error())
}
