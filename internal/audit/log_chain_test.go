package audit_test

import (
	"crypto/rand"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// What a later log's first entry states of the log before is held against that.
func TestSuccession(t *testing.T) {
	t.Parallel()
	skey, vkey, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(skey)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	before := ledger.Head{Origin: origin, Size: 5, Root: tlog.Hash{5}}
	head := ledger.Head{Incarnation: 1, Origin: origin + "/1", Base: 5, Size: 1}
	// entry is a first entry that names a checkpoint of size and a restored state, in incarnation n.
	entry := func(n int, size int64, restored ledger.Head) audit.FirstEntry {
		msg, err := ledger.Checkpoint{Origin: origin, Size: size, Root: tlog.Hash{byte(size)}}.Sign(signer)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := ledger.OpenCheckpoint(msg, origin, verifier)
		if err != nil {
			t.Fatal(err)
		}
		a, err := kinds.NewIncarnation(n, "why", signed, restored)
		if err != nil {
			t.Fatal(err)
		}
		return audit.FirstEntry{Kind: kinds.Incarnation.Name, Content: a.Content.Encode()}
	}
	other := before
	other.Root[9] = 1
	moved, empty, third := head, head, head
	moved.Base, empty.Size, third.Incarnation = 6, 0, 2
	for name, c := range map[string]struct {
		head      ledger.Head
		first     audit.FirstEntry
		verifiers []note.Verifier
		continued bool
		want      []audit.FaultCode
	}{
		"a restore":                  {head, entry(1, 7, before), []note.Verifier{verifier}, false, nil},
		"a drill":                    {head, entry(1, 5, before), []note.Verifier{verifier}, true, nil},
		"a fork":                     {head, entry(1, 4, before), []note.Verifier{verifier}, false, nil},
		"older than what is there":   {head, entry(1, 4, before), []note.Verifier{verifier}, true, []audit.FaultCode{audit.FaultIncarnation}},
		"another number":             {head, entry(2, 7, before), []note.Verifier{verifier}, false, []audit.FaultCode{audit.FaultIncarnation}},
		"another restored state":     {head, entry(1, 7, other), []note.Verifier{verifier}, false, []audit.FaultCode{audit.FaultIncarnation}},
		"nobody's signature":         {head, entry(1, 7, before), nil, false, []audit.FaultCode{audit.FaultIncarnation}},
		"no first entry":             {empty, audit.FirstEntry{}, []note.Verifier{verifier}, false, []audit.FaultCode{audit.FaultIncarnation}},
		"a first entry of no kind":   {head, audit.FirstEntry{}, []note.Verifier{verifier}, false, []audit.FaultCode{audit.FaultIncarnation}},
		"a gap between the two logs": {moved, entry(1, 7, before), []note.Verifier{verifier}, false, []audit.FaultCode{audit.FaultHead}},
		"a head that is missing":     {third, entry(2, 7, before), []note.Verifier{verifier}, false, []audit.FaultCode{audit.FaultHead}},
	} {
		s := audit.NewSuccession(before, c.verifiers, c.head, c.first)
		if got := codes(s.Faults(c.continued)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
