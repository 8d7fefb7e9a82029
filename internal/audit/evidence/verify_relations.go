package evidence

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// checkKnown checks what an entry, which is whole and known to be one of its kind, says of others, and with them its verdict.
func (v *verifier) checkKnown(e ledger.Entry, at place, x *audit.Examination) {
	v.checkClaims(e, at, x.Derived.Projection.Claims)
	if at.kind.Gated {
		v.limit(limitConsent)
	}
	absent := v.checkReferences(e, at, x.Derived.Content)
	switch {
	case absent != "" && (x.IsBundle() || at.kind.IsJudged()):
		x.Skip(audit.CheckVerdict, absent)
	case at.kind.IsJudged():
		x.Rejudge(v.parts(x.Joins()))
	case absent != "" && at.kind == &kinds.Dispute:
		x.Skip(audit.CheckVerdict, absent)
	case at.kind == &kinds.Dispute && v.again <= 0:
		x.Skip(audit.CheckVerdict, "the disputes before it took all the work that one file is worth: ask for the evidence of this one alone")
	case at.kind == &kinds.Dispute:
		x.Redecide(v.derived)
	case at.kind == &kinds.TrustPolicyKind:
		e.Content = bytes.Clone(e.Content) // the policy keeps what it was read from, and the member's bytes are used again
		if p, err := kinds.ReadTrustPolicy(e); err == nil {
			v.entries.policies[e.Seq] = audit.RecordedPolicy{Tenant: e.Meta.Tenant, Policy: p}
		}
	case at.kind.Erases:
		v.checkErasure(e, at)
	}
}

// checkReferences looks for the entries that a content names, and says which is absent, "" for none.
func (v *verifier) checkReferences(e ledger.Entry, at place, c ledger.Content) (absent string) {
	list, err := at.kind.References(c)
	if err != nil {
		v.fail(checkReference, at.String(), e.Seq, "what it names can't be read")
	}
	for _, r := range list {
		v.checkOnce(e, at, r)
		switch _, there := v.entries.seen[r.Seq]; {
		case r.Seq >= e.Seq:
			v.fail(checkReference, at.String(), e.Seq, "it names entry %d as its %s, which is not before it", r.Seq, r.Relation)
		case !there:
			absent = fmt.Sprintf("entry %d, its %s, is not in the file", r.Seq, r.Relation)
			v.skip(checkReference, at.String(), e.Seq, "%s", absent)
		default:
			v.pass(checkReference)
		}
	}
	return absent
}

// checkOnce finds what two entries of a kind name that only one may, such as a usage line that is billed twice.
func (v *verifier) checkOnce(e ledger.Entry, at place, r kinds.Reference) {
	if r.Once == "" {
		return
	}
	name := short(e.Meta.Tenant, at.kind.Name, r.Relation, strconv.FormatInt(r.Seq, 10), r.Once)
	if before, twice := v.entries.keys[name]; twice {
		v.fail(checkClaim, at.String(), e.Seq, "entry %d is %s by it and by entry %d already", r.Seq, r.Relation, before)
		return
	}
	v.entries.keys[name] = e.Seq
	v.pass(checkClaim)
}

// checkClaims holds the names that entries claim against each other.
func (v *verifier) checkClaims(e ledger.Entry, at place, claims []kinds.Claim) {
	for _, c := range claims {
		name, value := short(e.Meta.Tenant, c.Space, c.Name), short(c.Value)
		held, reserved := v.entries.claims[name]
		switch {
		case reserved && held != value:
			v.fail(checkClaim, at.String(), e.Seq, "an earlier entry reserves its %s for another value", c.Space)
		case c.Reserves:
			v.entries.claims[name] = value
			fallthrough
		default:
			v.pass(checkClaim)
		}
	}
}

// checkErasure holds what an erasure names against what is absent.
func (v *verifier) checkErasure(e ledger.Entry, at place) {
	a, err := kinds.ReadErasure(e)
	if err != nil { // its kind's check has found it
		return
	}
	for _, seq := range a.Seqs {
		named, there := v.entries.seen[seq]
		switch {
		case !there:
		case !named.erased:
			v.fail(checkErasure, named.String(), seq, "its content is there, although entry %d erased it", e.Seq)
		case named.kind == nil || !named.kind.Erasable():
			v.fail(checkErasure, at.String(), e.Seq, "it names entry %d, which is of a kind that is never erased", seq)
		case v.entries.erased[seq] == e.Seq:
			delete(v.entries.erased, seq)
			v.pass(checkErasure)
		}
	}
}

// checkAbsent reports, at the end, contents that are absent without an erasure that says so.
func (v *verifier) checkAbsent() {
	for _, seq := range slices.Sorted(maps.Keys(v.entries.erased)) {
		by, at := v.entries.erased[seq], v.entries.seen[seq].String()
		if _, there := v.entries.seen[by]; there {
			v.fail(checkErasure, at, seq, "its content is absent, and entry %d, which is said to have erased it, does not name it", by)
			continue
		}
		v.skip(checkErasure, at, seq, "its content is absent, and the erasure, entry %d, is not in the file", by)
	}
}

// parts reads the entries that a context record was judged with.
func (v *verifier) parts(seqs []int64) map[int64]*kinds.ContextPart {
	found := map[int64]*kinds.ContextPart{}
	for _, seq := range seqs {
		if _, there := v.entries.seen[seq]; there {
			found[seq] = v.part(seq)
		}
	}
	return found
}

// derived reads an entry of the file again, with all that follows from it; false for one that is erased, or was not checked to be
// whole.
func (v *verifier) derived(seq int64) (audit.Derived, bool) {
	v.again--
	at, there := v.entries.seen[seq]
	log := v.manifest.logOf(seq)
	if !there || at.erased || log == nil {
		return audit.Derived{}, false
	}
	raw, err := readAt(v.r, at.offset, int64(at.length))
	if err != nil {
		return audit.Derived{}, false
	}
	i, _, err := parseLine(raw, nil)
	if err != nil {
		return audit.Derived{}, false
	}
	e := i.Entry
	e.Meta, _ = ledger.ParseMeta(e.MetaBytes)
	envelope, _ := ledger.ParseEnvelope(e.Envelope)
	e.RecordedAt = envelope.RecordedAt
	d, faults := audit.EntryCheck{Origin: log.Origin, Policies: v.entries.policies}.Check(storedOf(e))
	return d, len(faults) == 0
}

// part reads an entry of the file again, as a part of another one; nil when it can't be read.
func (v *verifier) part(seq int64) *kinds.ContextPart {
	at := v.entries.seen[seq]
	raw, err := readAt(v.r, at.offset, int64(at.length))
	if err != nil {
		return nil
	}
	i, _, err := parseLine(raw, nil)
	if err != nil {
		return nil
	}
	envelope, err := ledger.ParseEnvelope(i.Entry.Envelope)
	if err != nil {
		return nil
	}
	p := &kinds.ContextPart{Seq: seq, RecordedAt: envelope.RecordedAt, ErasedBy: i.Entry.ErasedBy}
	if c, err := ledger.ParseContent(i.Entry.Content); err == nil {
		p.Artifact = c.Artifact
	}
	return p
}
