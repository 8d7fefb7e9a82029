package evidence

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
)

// Options are what a verifier knows from elsewhere than the file.
type Options struct {
	Keys       []string // verifier keys of the logs (C2SP signed-note), of which the newest log's is required
	Checkpoint []byte   // a signed checkpoint that the caller kept, nil for none
	Progress   func(done, all int64)

	again int // see maxAgain; 0 for that
}

// ErrOptions says that what the verifier was given beside the file can't be used.
var ErrOptions = errors.New("what was given beside the evidence file can't be used")

// Verify checks an evidence file of size bytes again, from its bytes and the keys alone. It holds one member in memory at a
// time, and some 200 bytes an entry. An error is an *UnreadableError, ErrOptions or that of the context; whatever can be read
// and is wrong is in the report.
func Verify(ctx context.Context, r io.ReaderAt, size int64, o Options) (Report, error) {
	v := &verifier{r: r, keys: map[string][]string{}, progress: o.Progress, again: cmp.Or(o.again, maxAgain)}
	if err := v.readKeys(o.Keys); err != nil {
		return Report{}, err
	}
	var err error
	if v.members, err = readDirectory(r, size); err != nil {
		return Report{}, err
	}
	if err := v.readManifest(); err != nil {
		return Report{}, err
	}
	if v.checkNames() {
		if err := v.checkLogs(o.Checkpoint); err != nil {
			return Report{}, err
		}
		if err := v.checkEntries(ctx); err != nil {
			return Report{}, err
		}
	}
	return v.report(v.manifest, v.entries.count), nil
}

// verifier is one run.
type verifier struct {
	tally
	r        io.ReaderAt
	keys     map[string][]string // by the name of the log
	progress func(done, all int64)
	again    int // entries that may still be read again

	members  []stored
	manifest Manifest
	buffer   []byte          // of the member that is being checked
	anchors  []*audit.Anchor // by incarnation, each of a log's checkpoint that was verified; nil for the others
	entries  entryChecks
}

func (v *verifier) readKeys(keys []string) error {
	for _, key := range keys {
		name, _, _ := strings.Cut(key, "+")
		v.keys[name] = append(v.keys[name], key)
	}
	for name, keys := range v.keys {
		if _, err := ledger.ParseVerifierKeys(name, keys...); err != nil {
			return fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	if len(v.keys) == 0 {
		return fmt.Errorf("%w: it needs the verifier key of the log", ErrOptions)
	}
	return nil
}

// verifiers are those of a log's keys that were given.
func (v *verifier) verifiers(origin string) []note.Verifier {
	list, err := ledger.ParseVerifierKeys(origin, v.keys[origin]...)
	if err != nil { // readKeys has read them
		return nil
	}
	return list
}

// read reads a member, which the directory bounds, and compares it with the directory's checksum. Its bytes are good until the
// next one is read.
func (v *verifier) read(s stored) ([]byte, error) {
	v.buffer = slices.Grow(v.buffer[:0], int(s.size))
	data := v.buffer[:s.size]
	if n, err := v.r.ReadAt(data, s.data()); n < len(data) {
		return nil, unreadable(s.name, "reading it: "+err.Error())
	}
	if crc32.ChecksumIEEE(data) != s.crc {
		v.fail(checkMembers, s.name, noSeq, "its bytes are not those that the archive's directory has the checksum of")
	}
	return data, nil
}

// readManifest reads the last two members, without which there is nothing to hold the others against.
func (v *verifier) readManifest() error {
	n := len(v.members)
	if n < 3 || v.members[n-2].name != manifestName || v.members[n-1].name != noteName {
		return unreadable(placeDirectory, "its last members are not "+manifestName+" and "+noteName)
	}
	raw, err := v.read(v.members[n-2])
	if err != nil {
		return err
	}
	raw = bytes.Clone(raw)
	if v.manifest, err = parseManifest(raw); err != nil {
		return unreadable(manifestName, err.Error())
	}
	signed, err := v.read(v.members[n-1])
	if err != nil {
		return err
	}
	v.checkNote(signed, raw)
	return nil
}

// checkNote checks the manifest's signature.
func (v *verifier) checkNote(signed, manifest []byte) {
	origin := v.manifest.newest().Origin
	var verifiers []note.Verifier
	for _, key := range v.keys[origin] {
		if e, err := ledger.EvidenceVerifier(key); err == nil {
			verifiers = append(verifiers, e)
		}
	}
	n, err := note.Open(signed, note.VerifierList(verifiers...))
	switch {
	case len(verifiers) == 0:
		v.fail(checkSignature, noteName, noSeq, "no key was given of %q, the log that the file says it is of", origin)
	case err != nil:
		v.fail(checkSignature, noteName, noSeq, "it is not signed by a given key of the log")
	case n.Text != noteText(origin, v.manifest.TreeSize, manifest):
		v.fail(checkSignature, noteName, noSeq, "what is signed is another manifest than %s", manifestName)
	case !canonicalSignatures(n):
		v.fail(checkSignature, noteName, noSeq, "a signature is not in canonical base64")
	default:
		v.pass(checkSignature)
	}
}

func canonicalSignatures(n *note.Note) bool {
	for _, s := range n.Sigs {
		if _, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil {
			return false
		}
	}
	return true
}

// checkNames demands just the members that a file of this manifest has, in order, and says whether they are there.
func (v *verifier) checkNames() bool {
	listed, have := v.manifest.Members, v.members[:len(v.members)-2]
	if len(listed) != len(have) || len(have) < len(v.manifest.Logs)+1 {
		v.fail(checkManifest, manifestName, noSeq, "it lists %d members, and the archive has %d before it", len(listed), len(have))
		return false
	}
	for i, s := range have {
		want := entriesName(i)
		switch rest := len(have) - i; {
		case rest == 1:
			want = summaryName
		case rest <= len(v.manifest.Logs)+1:
			want = checkpointName(len(v.manifest.Logs) + 1 - rest)
		}
		if s.name != want || listed[i].Name != want || listed[i].Bytes != s.size {
			v.fail(checkManifest, s.name, noSeq, "member %d is to be %s, as long as the manifest says; the archive has %q of %d bytes, the manifest %q of %d",
				i, want, s.name, s.size, listed[i].Name, listed[i].Bytes)
			return false
		}
	}
	v.pass(checkManifest)
	return true
}

// member reads a member that the manifest lists, and says whether it is the one; if not, that failed.
func (v *verifier) member(i int) (data []byte, same bool, err error) {
	if data, err = v.read(v.members[i]); err != nil {
		return nil, false, err
	}
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != v.manifest.Members[i].SHA256 {
		v.fail(checkMembers, v.members[i].name, noSeq, "its bytes were changed: they have another SHA-256 than the manifest names")
		return nil, false, nil
	}
	v.pass(checkMembers)
	return data, true, nil
}

// entryMembers is how many members hold entries.
func (v *verifier) entryMembers() int { return len(v.members) - 3 - len(v.manifest.Logs) }
