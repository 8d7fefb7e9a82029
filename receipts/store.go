package receipts

import (
	"sync/atomic"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// ConsentStore is a history of consent in the order in which it was recorded. Nothing is ever removed: a grant does not
// replace an earlier one, a revocation adds. The zero value is empty and ready. It is not safe for concurrent writes;
// reading it concurrently is.
type ConsentStore struct {
	records  map[string]*recordHistory // by the id that they stand under
	receipts []ConsentReceipt
	byTarget map[target]*history
	recorded int // events so far: the order of grants and revocations among each other
	revoked  int // revocations so far
}

// target is what a grant or a revocation is about.
type target struct {
	providerID string
	scope      EgressScope
}

// recordHistory is the boolean consents of one provider and the revocations of them.
type recordHistory struct {
	given       []givenRecord
	revocations []revocation
	line        atomic.Pointer[timeline] // nil until it is asked for
}

type givenRecord struct {
	ConsentRecord
	recorded int
}

type history struct {
	grants      []grant
	revocations []revocation
	line        atomic.Pointer[timeline]          // nil until it is asked for
	pinned      atomic.Pointer[map[pin]*timeline] // of the grants to each identity
}

type grant struct {
	index    int // in ConsentStore.receipts
	recorded int

	// What period says of the receipt, read once: a history is asked about many moments.
	began, ends time.Time
	dated       bool
}

type revocation struct {
	at       time.Time
	recorded int
	place    int // among all revocations of the store
}

// Record adds a boolean consent. Nothing is checked and no time is stamped: there is no clock here.
func (s *ConsentStore) Record(r ConsentRecord) { s.recordUnder(r.ProviderID, r) }

func (s *ConsentStore) recordUnder(key string, r ConsentRecord) {
	h := s.recordsAt(key)
	h.given = append(h.given, givenRecord{r, s.recorded})
}

func (s *ConsentStore) recordsAt(key string) *recordHistory {
	s.recorded++
	if s.records == nil {
		s.records = map[string]*recordHistory{}
	}
	h := s.records[key]
	if h == nil {
		h = &recordHistory{}
		s.records[key] = h
	}
	h.line.Store(nil)
	return h
}

// RecordReceipt adds a grant. Nothing is checked, as in the reference: what was recorded is judged when it is asked for.
func (s *ConsentStore) RecordReceipt(r ConsentReceipt) {
	h := s.at(target{r.ProviderID, r.Scope})
	g := grant{index: len(s.receipts), recorded: s.recorded}
	g.began, g.ends, g.dated = r.period()
	h.grants = append(h.grants, g)
	s.receipts = append(s.receipts, r)
}

// RecordRevocation adds a revocation. The error is Check's, and then nothing was added.
func (s *ConsentStore) RecordRevocation(r Revocation) error {
	if err := r.Check(); err != nil {
		return err
	}
	at, _ := frames.ParseInstant(r.RevokedAt) // Check has read it
	s.revoked++
	if r.Boolean {
		h := s.recordsAt(r.ProviderID)
		h.revocations = append(h.revocations, revocation{at, s.recorded, s.revoked - 1})
		return nil
	}
	h := s.at(target{r.ProviderID, r.Scope})
	h.revocations = append(h.revocations, revocation{at, s.recorded, s.revoked - 1})
	return nil
}

func (s *ConsentStore) at(t target) *history {
	s.recorded++
	if s.byTarget == nil {
		s.byTarget = map[target]*history{}
	}
	h := s.byTarget[t]
	if h == nil {
		h = &history{}
		s.byTarget[t] = h
	}
	h.line.Store(nil)
	h.pinned.Store(nil)
	return h
}

// ReceiptsFor is every receipt of a provider in the order of recording, expired and revoked ones included.
func (s *ConsentStore) ReceiptsFor(providerID string) []ConsentReceipt {
	var out []ConsentReceipt
	for _, r := range s.receipts {
		if r.ProviderID == providerID {
			out = append(out, r)
		}
	}
	return out
}

// HasReceipt says whether a receipt was ever recorded for exactly this provider and scope, in force or not.
func (s *ConsentStore) HasReceipt(providerID string, scope EgressScope) bool {
	h := s.byTarget[target{providerID, scope}]
	return h != nil && len(h.grants) > 0
}

// LiveReceiptReference is the reference's ConsentStore::live_receipt: the first receipt recorded for exactly this provider
// and scope that is live by bytes (see IsLiveReference). It knows no revocations. See StateAt for the answer by instants.
func (s *ConsentStore) LiveReceiptReference(providerID string, scope EgressScope, now string) (ConsentReceipt, bool) {
	if h := s.byTarget[target{providerID, scope}]; h != nil {
		for _, g := range h.grants {
			if r := s.receipts[g.index]; r.IsLiveReference(now) {
				return r, true
			}
		}
	}
	return ConsentReceipt{}, false
}

// DecodeConsentStore reads the ledger that a reference host persists, {"records":{id: ConsentRecord},"receipts":[…]},
// where d stands. A record counts for the id it stands under, which is not compared with its own, as in the reference.
func DecodeConsentStore(d *strictjson.Decoder) *ConsentStore {
	s := &ConsentStore{}
	d.Artifact(func() {
		d.Object(
			strictjson.Opt("records", func() {
				d.Map(func(id string) { s.recordUnder(id, DecodeConsentRecord(d)) })
			}),
			strictjson.Opt("receipts", func() {
				d.Array(func(int) { s.RecordReceipt(DecodeConsentReceipt(d)) })
			}),
		)
	})
	return s
}
