package audit

import (
	"time"

	"ledgerd/receipts"
)

// Verdict is what the ledger can say about one scope at the instant of one egress.
type Verdict string

// The verdicts in their fixed precedence, best first. A scope shows the worst that holds for any report of its line, and how
// many have which; a line shows the worst of its scopes.
const (
	LocalOnly       Verdict = "local-only"          // by its declaration, nothing leaves the machine
	Consented       Verdict = "consented"           // a grant was in force at that instant and had been recorded by then
	LegacyConsented Verdict = "legacy-consented"    // boolean egress, covered by a boolean consent in the same way
	ReachUnknown    Verdict = "reach-unknown"       // not covered; nothing was served, but the query itself may have gone there
	Undeclared      Verdict = "undeclared-provider" // what it does with content was not declared, and nobody agreed to anything
	RecordedAfter   Verdict = "recorded-after"      // in force on paper, but recorded only after the egress
	Expired         Verdict = "expired"             // granted before, and lapsed by then
	Revoked         Verdict = "revoked"             // granted before, and taken back by then
	GrantedAfter    Verdict = "granted-after"       // granted later than the egress
	Unconsented     Verdict = "unconsented"         // no readable grant
)

// Verdicts lists every verdict, best first.
var Verdicts = [...]Verdict{
	LocalOnly, Consented, LegacyConsented, ReachUnknown, Undeclared, RecordedAfter, Expired, Revoked, GrantedAfter, Unconsented,
}

// severity is a verdict's place in Verdicts.
var severity = func() map[Verdict]int {
	m := map[Verdict]int{}
	for i, v := range Verdicts {
		m[v] = i
	}
	return m
}()

func worse(a, b Verdict) Verdict {
	if severity[b] > severity[a] {
		return b
	}
	return a
}

func better(a, b Verdict) Verdict {
	if severity[b] < severity[a] {
		return b
	}
	return a
}

// covers says that the verdict leaves nothing open, whether something was served or not.
func (v Verdict) covers() bool { return v == LocalOnly || v == Consented || v == LegacyConsented }

// moment is the instant of an egress and the entry that reports it.
type moment struct {
	at  time.Time
	seq int64
}

// knew says whether an entry was there for the host to know by that moment.
func (m moment) knew(seq int64, recordedAt time.Time) bool {
	return seq < m.seq && recordedBy(recordedAt, m.at)
}

type target struct {
	provider string
	scope    receipts.EgressScope
}

// book is consent, ready to be asked about many moments.
type book struct {
	Consents
	store       receipts.ConsentStore
	grants      map[target][]Grant
	scopes      map[string][]receipts.EgressScope // of grants, in order of their first
	revocations map[target][]Revocation           // of boolean consents under the scope ""
	records     map[string][]Record
}

// newBook replays consent in the order in which it was recorded.
func newBook(c Consents) *book {
	b := &book{
		Consents: c, grants: map[target][]Grant{}, scopes: map[string][]receipts.EgressScope{},
		revocations: map[target][]Revocation{}, records: map[string][]Record{},
	}
	revocations, records := c.Revocations, c.Records
	before := func(seq int64) {
		for len(revocations) > 0 || len(records) > 0 {
			takeRevocation := len(records) == 0 || len(revocations) > 0 && revocations[0].Seq < records[0].Seq
			switch {
			case takeRevocation && revocations[0].Seq < seq:
				b.addRevocation(revocations[0])
				revocations = revocations[1:]
			case !takeRevocation && records[0].Seq < seq:
				b.store.Record(records[0].Record)
				b.records[records[0].Record.ProviderID] = append(b.records[records[0].Record.ProviderID], records[0])
				records = records[1:]
			default:
				return
			}
		}
	}
	for _, g := range c.Grants {
		before(g.Seq)
		b.store.RecordReceipt(g.Receipt)
		t := target{g.Receipt.ProviderID, g.Receipt.Scope}
		if b.grants[t] == nil {
			b.scopes[t.provider] = append(b.scopes[t.provider], t.scope)
		}
		b.grants[t] = append(b.grants[t], g)
	}
	before(1<<63 - 1)
	return b
}

func (b *book) addRevocation(r Revocation) {
	event := r.Event
	if r.Erased {
		event.RevokedBy.ID = "(erased)" // whose name is gone; the revocation still stands
	}
	if b.store.RecordRevocation(event) == nil {
		t := target{event.ProviderID, event.Scope}
		b.revocations[t] = append(b.revocations[t], r)
	}
}

// scope judges the grants of one provider and scope at a moment: by what they say of themselves, and by when they were
// recorded, so that a backdated one does not read as consent. Of several in force any that was known by then will do; when
// none was in force, the one that began last decides, as it does for receipts.StateAt.
func (b *book) scope(t target, m moment) Verdict {
	switch b.store.StateAt(t.provider, t.scope, m.at).State {
	case receipts.NotYetGranted:
		return GrantedAfter
	case receipts.Revoked:
		return Revoked
	case receipts.Expired:
		return Expired
	case receipts.Live:
		for s := range b.store.Standings(t.provider, t.scope, m.at) {
			if g := b.Grants[s.Index]; s.State == receipts.Live && m.knew(g.Seq, g.RecordedAt) {
				return Consented
			}
		}
		return RecordedAfter
	}
	return Unconsented
}

// boolean judges the boolean consents of a provider at a moment.
func (b *book) boolean(provider string, m moment) Verdict {
	best := Unconsented
	records := b.records[provider]
	for i, state := range b.store.RecordsAt(provider, m.at) {
		switch v := records[i]; {
		case state == receipts.NotYetGranted:
			best = better(best, GrantedAfter)
		case state == receipts.Revoked:
			best = better(best, Revoked)
		case m.knew(v.Seq, v.RecordedAt):
			return LegacyConsented
		default:
			best = better(best, RecordedAfter)
		}
	}
	return best
}

// lateRevocation says whether what ended consent at a moment was itself recorded only after it: the host could not know.
func (b *book) lateRevocation(t target, m moment) bool {
	known := false
	for _, r := range b.revocations[t] {
		at := r.Event.RevokedAt
		if when, ok := instantOf(at); !ok || when.After(m.at) {
			continue
		}
		known = known || m.knew(r.Seq, r.RecordedAt)
	}
	return !known
}
