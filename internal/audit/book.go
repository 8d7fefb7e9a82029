package audit

import "ledgerd/receipts"

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
	revoked     []Revocation                      // by their place in the store
	records     map[string][]Record
}

// newBook replays consent in the order in which it was recorded.
func newBook(c Consents) *book {
	b := &book{
		Consents: c, grants: map[target][]Grant{}, scopes: map[string][]receipts.EgressScope{},
		revocations: map[target][]Revocation{}, records: map[string][]Record{},
	}
	for g, v, r := c.Grants, c.Revocations, c.Records; len(g)+len(v)+len(r) > 0; {
		switch next := firstSeq(g, v, r); {
		case len(g) > 0 && g[0].Seq == next:
			b.addGrant(g[0])
			g = g[1:]
		case len(v) > 0 && v[0].Seq == next:
			b.addRevocation(v[0])
			v = v[1:]
		default:
			b.addRecord(r[0])
			r = r[1:]
		}
	}
	return b
}

// firstSeq is the earliest of the heads; one of the lists has one.
func firstSeq(g []Grant, v []Revocation, r []Record) int64 {
	next := int64(1<<63 - 1)
	if len(g) > 0 {
		next = min(next, g[0].Seq)
	}
	if len(v) > 0 {
		next = min(next, v[0].Seq)
	}
	if len(r) > 0 {
		next = min(next, r[0].Seq)
	}
	return next
}

func (b *book) addGrant(g Grant) {
	b.store.RecordReceipt(g.Receipt)
	t := target{g.Receipt.ProviderID, g.Receipt.Scope}
	if b.grants[t] == nil {
		b.scopes[t.provider] = append(b.scopes[t.provider], t.scope)
	}
	b.grants[t] = append(b.grants[t], g)
}

func (b *book) addRecord(r Record) {
	b.store.Record(r.Record)
	b.records[r.Record.ProviderID] = append(b.records[r.Record.ProviderID], r)
}

func (b *book) addRevocation(r Revocation) {
	event := r.Event
	if r.Erased {
		event.RevokedBy.ID = "(erased)" // whose name is gone; the revocation still stands
	}
	if b.store.RecordRevocation(event) == nil {
		t := target{event.ProviderID, event.Scope}
		b.revocations[t] = append(b.revocations[t], r)
		b.revoked = append(b.revoked, r)
	}
}

// ruling is what the book says about one target at one moment.
type ruling struct {
	verdict Verdict
	late    bool    // consent had been taken back, and no revocation that says so was on record by then
	by      []int64 // the entries that decide: the consent, and the revocation that ended it
}

// scope judges the grants of one provider and scope at a moment: by what they say of themselves, and by when they were
// recorded, so that a backdated one does not read as consent.
func (b *book) scope(t target, m moment) ruling {
	s := b.store.StateAt(t.provider, t.scope, m.at)
	if s.Index < 0 {
		return ruling{verdict: Unconsented}
	}
	g := b.Grants[s.Index]
	return b.rule(s, m, Consented, g.Seq, m.knew(g.Seq, g.RecordedAt))
}

// boolean judges the boolean consents of a provider at a moment.
func (b *book) boolean(provider string, m moment) ruling {
	s := b.store.RecordStateAt(provider, m.at)
	if s.Index < 0 {
		return ruling{verdict: Unconsented}
	}
	r := b.records[provider][s.Index]
	return b.rule(s, m, LegacyConsented, r.Seq, m.knew(r.Seq, r.RecordedAt))
}

// rule makes a verdict of a standing. Of several consents in force the first recorded one decides: whoever knew any knew it.
func (b *book) rule(s receipts.Standing, m moment, covered Verdict, seq int64, known bool) ruling {
	r := ruling{verdict: Unconsented, by: []int64{seq}}
	switch {
	case s.State == receipts.Live && known:
		r.verdict = covered
	case s.State == receipts.Live:
		r.verdict = RecordedAfter
	case s.State == receipts.NotYetGranted:
		r.verdict = GrantedAfter
	case s.State == receipts.Expired:
		r.verdict = Expired
	case s.State == receipts.Revoked:
		r.verdict = Revoked
		r.late = !b.knewRevoked(s, m)
		r.by = append(r.by, b.revoked[s.Revocation].Seq)
	}
	return r
}

// knewRevoked says whether any revocation that had taken the deciding consent back was on record by then. Those of other
// consents say nothing about it.
func (b *book) knewRevoked(s receipts.Standing, m moment) bool {
	v := b.revoked[s.FirstRevocation]
	return m.knew(v.Seq, v.RecordedAt)
}
