package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// entryChecks is what the checks of entries know of those before.
type entryChecks struct {
	count, matched int64
	broken         bool // a member of entries could not be read, so that nothing can be said of them all
	malformed      int  // lines that are none
	last           int64
	lastTime       time.Time
	seen           map[int64]place
	keys           map[[16]byte]int64    // tenant, kind and key, or what is named once → seq
	claims         map[[16]byte][16]byte // space and name → value
	policies       map[int64]audit.RecordedPolicy
	erased         map[int64]int64 // entry → the erasure that it names, until one does name it
	summary        summary
	room           []byte // for reading a line
}

// place is where an entry's line is.
type place struct {
	kind         *kinds.Kind
	offset       int64 // in the file
	length       int32
	member, line int32
	erased       bool
}

func (p place) String() string { return fmt.Sprintf("%s, line %d", entriesName(int(p.member)), p.line) }

// checkEntries checks everything about the entries: each by itself, and those that concern each other.
func (v *verifier) checkEntries(ctx context.Context) error {
	v.entries = entryChecks{
		last: -1, seen: map[int64]place{}, keys: map[[16]byte]int64{}, claims: map[[16]byte][16]byte{}, policies: map[int64]audit.RecordedPolicy{}, erased: map[int64]int64{},
	}
	for n := range v.entryMembers() {
		data, same, err := v.member(n)
		if err != nil {
			return err
		}
		v.entries.broken = v.entries.broken || !same
		if err := v.checkLines(ctx, n, data); err != nil {
			return err
		}
		if v.progress != nil {
			v.progress(v.entries.count, v.manifest.Entries)
		}
	}
	v.checkAbsent()
	switch {
	case v.entries.broken:
		v.skip(checkManifest, manifestName, noSeq, "its counts can't be compared, since entries could not be read")
	case v.entries.count != v.manifest.Entries || v.entries.matched != v.manifest.Matched:
		v.fail(checkManifest, manifestName, noSeq, "it counts %d entries, %d of them matched, and the members have %d and %d",
			v.manifest.Entries, v.manifest.Matched, v.entries.count, v.entries.matched)
	}
	return v.checkSummary()
}

// checkLines checks a member's entries, up to a line too many that is none.
func (v *verifier) checkLines(ctx context.Context, member int, data []byte) error {
	offset := v.members[member].data()
	for n := 1; len(data) > 0; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if v.entries.count >= v.manifest.Entries {
			v.fail(checkManifest, fmt.Sprintf("%s, line %d", entriesName(member), n), noSeq, "there are more entries than the manifest counts")
			v.entries.broken = true
			return nil
		}
		raw, rest, ended := bytes.Cut(data, []byte("\n"))
		at := place{member: int32(member), line: int32(n), offset: offset, length: int32(len(raw))}
		offset, data = offset+int64(len(raw))+1, rest
		i, room, err := parseLine(raw, v.entries.room)
		v.entries.room = room
		if err != nil || !ended {
			v.fail(checkManifest, at.String(), noSeq, "the line is not in the form that evidence files have")
			v.entries.broken = true
			if v.entries.malformed++; v.entries.malformed > MaxRemarks { // a member may have millions, each one empty
				return nil
			}
			continue
		}
		v.checkEntry(i, at)
	}
	return nil
}

func (v *verifier) checkEntry(i Item, at place) {
	e := &i.Entry
	v.entries.count++
	if i.Matched {
		v.entries.matched++
	}
	log := v.manifest.logOf(e.Seq)
	if log == nil {
		v.fail(checkInclusion, at.String(), e.Seq, "the entry is beyond the tree size")
		v.entries.broken = true
		return
	}
	envelope, _ := ledger.ParseEnvelope(e.Envelope) // what can't be read is found below
	e.Meta, _ = ledger.ParseMeta(e.MetaBytes)
	e.RecordedAt = envelope.RecordedAt
	at.kind, at.erased = kinds.Lookup(e.Meta.Kind), e.Erased()
	v.checkPlace(*e, at)
	v.checkItself(i, at, log)
	v.entries.seen[e.Seq] = at
	v.entries.summary.add(*e, i.Relation)
}

// checkPlace checks what an entry is among the others: order, tenant, key.
func (v *verifier) checkPlace(e ledger.Entry, at place) {
	if ofLog := at.kind != nil && at.kind.OfLog && e.Meta.Tenant == ""; e.Meta.Tenant != v.manifest.Tenant && !ofLog {
		v.fail(checkManifest, at.String(), e.Seq, "the entry is of another tenant than the file")
	}
	key := short(e.Meta.Tenant, e.Meta.Kind, e.Meta.Key)
	before, twice := v.entries.keys[key]
	switch {
	case e.Seq <= v.entries.last:
		v.fail(checkOrder, at.String(), e.Seq, "the entry does not come after the one before it")
	case e.RecordedAt.Before(v.entries.lastTime):
		v.fail(checkOrder, at.String(), e.Seq, "it was recorded before the entry before it")
	case twice:
		v.fail(checkOrder, at.String(), e.Seq, "it has the kind and key of entry %d", before)
	default:
		v.pass(checkOrder)
	}
	v.entries.last, v.entries.lastTime, v.entries.keys[key] = e.Seq, e.RecordedAt, e.Seq
}

// short identifies some texts by 16 bytes.
func short(texts ...string) [16]byte {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return [16]byte(h.Sum(nil))
}

// checkItself examines an entry as every re-verification does: the leaf from its parts, its kind's own check, its recorded
// verdict and its place in the tree; and then what it says of others.
func (v *verifier) checkItself(i Item, at place, log *Log) {
	e := i.Entry
	stored := storedOf(e)
	check := audit.EntryCheck{Origin: log.Origin, Policies: v.entries.policies}
	if e.Erased() {
		check.Erased = map[int64]bool{e.Seq: true} // checkAbsent asks for the erasure
		v.entries.erased[e.Seq] = e.ErasedBy
	}
	x := check.Begin(stored)
	if x.Derived.Known {
		v.checkKnown(e, at, x)
	}
	anchor := v.anchors[log.Incarnation]
	if anchor != nil {
		x.Prove(anchor, e.Seq-log.Base, i.Proof)
	} else {
		x.Fault(audit.CheckInclusion, audit.FaultCheckpoint, "the checkpoint of its log, "+checkpointName(log.Incarnation)+", could not be verified")
	}
	if e.Erased() {
		x.Skip(audit.CheckContent, fmt.Sprintf("its content was erased, the file says by entry %d", e.ErasedBy))
	}
	v.take(x.Report(), at, e.Erased())
}

// storedOf is an entry as a check takes it.
func storedOf(e ledger.Entry) audit.StoredEntry {
	leaf := ledger.LeafHash(e.Envelope)
	stored := audit.StoredEntry{
		Seq: e.Seq, RecordedAt: e.RecordedAt, Tenant: []byte(e.Meta.Tenant), Kind: []byte(e.Meta.Kind), Key: []byte(e.Meta.Key), TokenID: []byte(e.Meta.Actor.TokenID),
		Meta: e.MetaBytes, MetaSalt: e.MetaSalt[:], Envelope: e.Envelope, LeafHash: leaf[:], Content: e.Content,
	}
	if !e.Erased() {
		stored.ContentSalt = e.ContentSalt[:]
	}
	return stored
}

// take counts the checks of one entry. Of an erased one it is said once that its content can't be checked.
func (v *verifier) take(r audit.Report, at place, erased bool) {
	for _, c := range r.Checks {
		switch {
		case c.Name == audit.CheckProjection || c.Name == audit.CheckCheckpoint: // the one is not in the file, the other was checked once
		case c.Result == audit.Passed, erased && c.Result == audit.NotCheckable && c.Name != audit.CheckContent:
			v.count(string(c.Name), c.Result)
		default:
			v.remark(string(c.Name), c.Result, at.String(), r.Seq, "%s", c.Reason)
		}
	}
	v.limit(r.NotChecked...)
}

// checkSummary makes the page for people again.
func (v *verifier) checkSummary() error {
	page, same, err := v.member(len(v.members) - 3)
	switch {
	case err != nil:
		return err
	case !same: // which was said
	case v.entries.broken:
		v.skip(checkSummary, summaryName, noSeq, "it can't be made again, since entries could not be read")
	case !bytes.Equal(page, v.entries.summary.html(v.manifest)):
		v.fail(checkSummary, summaryName, noSeq, "it is not the page that these entries and this manifest make: don't believe what it says")
	default:
		v.pass(checkSummary)
	}
	return nil
}
