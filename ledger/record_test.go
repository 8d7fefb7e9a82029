package ledger_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"ledgerd/ledger"
)

func TestSealCutsToMicroseconds(t *testing.T) {
	e := sealed(t)
	if want := time.Date(2026, 11, 30, 15, 20, 48, 123456000, time.UTC); !e.RecordedAt.Equal(want) || e.RecordedAt.Location() != time.UTC {
		t.Errorf("recorded at %v, want %v", e.RecordedAt, want)
	}
	if e.Meta.Bytes != len(e.Content) || e.Erased() {
		t.Errorf("%+v", e)
	}
}

// parts are the stored bytes of an entry.
func parts(e *ledger.Entry) map[string][]byte {
	return map[string][]byte{
		"content": e.Content, "content salt": e.ContentSalt[:], "meta": e.MetaBytes, "meta salt": e.MetaSalt[:], "envelope": e.Envelope, "leaf hash": e.LeafHash[:],
	}
}

// Whichever bit of whichever part is flipped, the entry no longer checks.
func TestEntryCheckFindsEveryFlippedBit(t *testing.T) {
	good := sealed(t)
	for name, part := range parts(&good) {
		for at := range part {
			for bit := range 8 {
				e := sealed(t)
				e.Content, e.MetaBytes, e.Envelope = bytes.Clone(e.Content), bytes.Clone(e.MetaBytes), bytes.Clone(e.Envelope)
				parts(&e)[name][at] ^= 1 << bit
				if e.Check() == nil {
					t.Errorf("%s: bit %d of byte %d flipped, and nobody noticed", name, bit, at)
				}
			}
		}
	}
}

func TestEntryCheckFindsOtherColumns(t *testing.T) {
	for name, change := range map[string]func(*ledger.Entry){
		"recorded_at": func(e *ledger.Entry) { e.RecordedAt = e.RecordedAt.Add(time.Microsecond) },
		"tenant":      func(e *ledger.Entry) { e.Meta.Tenant = "other" },
		"kind":        func(e *ledger.Entry) { e.Meta.Kind = "other" },
		"key":         func(e *ledger.Entry) { e.Meta.Key = "other" },
		"role":        func(e *ledger.Entry) { e.Meta.Actor.Role = "admin" },
		"token":       func(e *ledger.Entry) { e.Meta.Actor.TokenID = "other" },
		"bytes":       func(e *ledger.Entry) { e.Meta.Bytes++ },
		"empty content, which is none that was erased": func(e *ledger.Entry) { e.Content = []byte{} },
	} {
		e := sealed(t)
		change(&e)
		if err := e.Check(); !errors.Is(err, ledger.ErrEntry) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An entry whose content was destroyed still checks, in all that is left of it.
func TestErasedEntryChecks(t *testing.T) {
	e := sealed(t)
	e.Content, e.ContentSalt = nil, ledger.Salt{}
	if err := e.Check(); err != nil || !e.Erased() {
		t.Errorf("erased: %v", err)
	}
	e.MetaSalt[0] ^= 1
	if err := e.Check(); !errors.Is(err, ledger.ErrEntry) {
		t.Errorf("erased, and its meta salt changed: %v", err)
	}
}

// A content may be committed to and yet be no canonical one; fsck finds that too.
func TestEntryCheckFindsContentsThatAreNotCanonical(t *testing.T) {
	for _, content := range []string{
		`{"artifact":{"n":1.0},"context":{},"receiver":{}}`, `{"artifact":{"b":1,"a":2},"context":{},"receiver":{}}`,
		`{"artifact":1,"context":{"n":9007199254740992},"receiver":{}}`, `{"artifact":1,"context":{},"receiver":"\u0061"}`,
		`{"artifact":1,"context":{}}`, `[]`,
	} {
		e := ledger.Prepare(ledger.Meta{}, []byte(content), ledger.Salt{}, ledger.Salt{}).Seal(origin, 0, time.Unix(0, 0))
		if err := e.Check(); !errors.Is(err, ledger.ErrEntry) && !errors.Is(err, ledger.ErrContentForm) {
			t.Errorf("%s: %v", content, err)
		}
	}
}
