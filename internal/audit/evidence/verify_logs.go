package evidence

import (
	"encoding/base64"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
)

// checkLogs verifies the checkpoints that the proofs lead to, and holds them against the caller's own.
func (v *verifier) checkLogs(own []byte) error {
	v.anchors = make([]*audit.Anchor, len(v.manifest.Logs))
	for n := range v.manifest.Logs {
		text, same, err := v.member(v.entryMembers() + n)
		if err != nil {
			return err
		}
		if same {
			v.anchors[n] = v.checkCheckpoint(n, text)
		}
	}
	if own == nil {
		return nil
	}
	return v.checkOwn(own)
}

// checkCheckpoint verifies one log's checkpoint. A log whose key was not given is passed over, unless it is the newest: what
// of its entries is in the file then fails.
func (v *verifier) checkCheckpoint(n int, text []byte) *audit.Anchor {
	log, place := v.manifest.Logs[n], checkpointName(n)
	verifiers := v.verifiers(log.Origin)
	newest := n == len(v.manifest.Logs)-1
	if len(verifiers) == 0 && !newest {
		v.skip(checkCheckpoint, place, noSeq, "no key was given of %q, the log of incarnation %d: give it by one more --log-key", log.Origin, n)
		return nil
	}
	anchor := audit.NewAnchor(text, verifiers...)
	c := anchor.Signed().Checkpoint()
	if !anchor.Signed().Valid() || c.Origin != log.Origin {
		v.fail(checkCheckpoint, place, noSeq, "it is not signed by a given key of the log %q", log.Origin)
		return nil
	}
	if c.Size != log.Size || base64.StdEncoding.EncodeToString(c.Root[:]) != log.RootHash {
		v.fail(checkCheckpoint, place, noSeq, "it is of another size or root than the manifest names")
		return nil
	}
	v.pass(checkCheckpoint)
	if opened, err := note.Open(text, note.VerifierList(verifiers...)); err == nil && len(opened.UnverifiedSigs) > 0 {
		v.skip(checkCheckpoint, place, noSeq, "it has %d more signatures, by witnesses or keys that were not given", len(opened.UnverifiedSigs))
	}
	return anchor
}

// checkOwn holds the file against a checkpoint that the caller kept.
func (v *verifier) checkOwn(text []byte) error {
	claimed, err := ledger.ReadCheckpoint(text)
	if err != nil {
		return fmt.Errorf("%w: your checkpoint: %w", ErrOptions, err)
	}
	own, err := ledger.OpenCheckpoint(text, claimed.Origin, v.verifiers(claimed.Origin)...)
	if err != nil {
		return fmt.Errorf("%w: your checkpoint: %w", ErrOptions, err)
	}
	for n, log := range v.manifest.Logs {
		if log.Origin == claimed.Origin {
			v.compareOwn(n, own)
			return nil
		}
	}
	v.fail(CheckConsistency, manifestName, noSeq, "your checkpoint is of the log %q, which the file knows nothing of", claimed.Origin)
	return nil
}

// compareOwn proves that a log's tree in the file continues the caller's.
func (v *verifier) compareOwn(n int, own ledger.SignedCheckpoint) {
	place := checkpointName(n)
	if v.anchors[n] == nil {
		v.fail(CheckConsistency, place, noSeq, "the file's checkpoint could not be verified")
		return
	}
	tree := v.anchors[n].Signed()
	mine, theirs, since := own.Checkpoint(), tree.Checkpoint(), v.manifest.Since
	newest := n == len(v.manifest.Logs)-1
	switch {
	case mine.Size == theirs.Size && mine.Root != theirs.Root:
		v.fail(CheckConsistency, place, noSeq, "FORK: your checkpoint and the file's are both signed, of %d entries, and have different roots", mine.Size)
	case mine.Size == theirs.Size:
		v.pass(CheckConsistency)
	case mine.Size > theirs.Size:
		v.skip(CheckConsistency, place, noSeq, "your checkpoint is of %d entries and newer than the file, which is of %d: ask for the evidence again, or run ledgerd verify log", mine.Size, theirs.Size)
	case !newest:
		v.skip(CheckConsistency, place, noSeq, "your checkpoint is of %d entries of an earlier log, which ended with %d, and the file has no proof between them: run ledgerd verify log", mine.Size, theirs.Size)
	case since == nil || since.From != mine.Size:
		v.skip(CheckConsistency, place, noSeq, "the file has no proof from your checkpoint of %d entries to its own of %d: ask for the evidence with since=%d", mine.Size, theirs.Size, mine.Size)
	default:
		hashes, ok := split(since.Hashes)
		if _, err := ledger.CheckConsistency(own, tree, hashes); !ok || err != nil {
			v.fail(CheckConsistency, manifestName, noSeq, "the proof does not show that the file's tree of %d entries continues your checkpoint of %d: a FORK, or a wrong proof", theirs.Size, mine.Size)
			return
		}
		v.pass(CheckConsistency)
	}
}
