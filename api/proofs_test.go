package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

func (s *service) proof(t *testing.T, role kinds.Role, path string) api.ProofBody {
	t.Helper()
	got := s.as(t, role, "GET", path, "")
	if got.status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	var p api.ProofBody
	got.into(t, &p)
	return p
}

func hash(t *testing.T, text string) tlog.Hash {
	t.Helper()
	h, err := tlog.ParseHash(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return h
}

// fits verifies a proof from its answer alone and the log's key, in both of its forms.
func (s *service) fits(t *testing.T, p api.ProofBody) {
	t.Helper()
	if p.Checkpoint == nil || p.TlogProof == nil {
		t.Errorf("entry %d at %d: no checkpoint", p.Seq, p.TreeSize)
		return
	}
	signed, err := ledger.OpenCheckpoint([]byte(*p.Checkpoint), s.Keys.Verifier.Name(), s.Keys.Verifier)
	if err != nil {
		t.Errorf("entry %d: %v", p.Seq, err)
		return
	}
	var hashes tlog.RecordProof
	for _, h := range p.Hashes {
		hashes = append(hashes, hash(t, h))
	}
	c := signed.Checkpoint()
	if err := tlog.CheckRecord(hashes, c.Size, c.Root, p.Seq, hash(t, p.LeafHash)); err != nil || c.Size != p.TreeSize {
		t.Errorf("entry %d, said to be in a tree of %d, against the checkpoint of %d: %v", p.Seq, p.TreeSize, c.Size, err)
	}
	text, err := ledger.ParseProof([]byte(*p.TlogProof))
	if err != nil {
		t.Errorf("entry %d: %v", p.Seq, err)
		return
	}
	in, err := text.Check(hash(t, p.LeafHash), s.Keys.Verifier.Name(), s.Keys.Verifier)
	if err != nil || in.Index() != p.Seq || string(text.Checkpoint) != *p.Checkpoint || !slices.Equal(text.Hashes, hashes) {
		t.Errorf("entry %d: the tlog-proof says something else, %v", p.Seq, err)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, n := range []int{0, 5} {
		s.fill(t, n)
		for _, role := range kinds.Roles {
			var l api.LogBody
			s.as(t, role, "GET", "/v1/log", "").into(t, &l)
			verifiers, err := ledger.ParseVerifierKeys(l.Origin, l.VerifierKeys...)
			if err != nil || l.Size != int64(n) {
				t.Fatalf("%s: %+v, %v", role, l, err)
			}
			signed, err := ledger.OpenCheckpoint([]byte(l.Checkpoint), l.Origin, verifiers...)
			if err != nil || signed.Checkpoint() != (ledger.Checkpoint{Origin: l.Origin, Size: l.Size, Root: hash(t, l.RootHash)}) {
				t.Errorf("%s: the checkpoint states %+v, %v", role, signed.Checkpoint(), err)
			}
		}
	}
}

func TestProof(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fill(t, 300)
	for _, seq := range []int64{0, 1, 255, 256, 298, 299} {
		p := s.proof(t, kinds.Auditor, fmt.Sprintf("/v1/entries/%d/proof", seq))
		if p.Seq != seq || p.TreeSize != 300 {
			t.Errorf("%+v", p)
		}
		s.fits(t, p)
		var e api.EntryBody
		s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/entries/%d", seq), "").into(t, &e)
		if e.LeafHash != p.LeafHash {
			t.Errorf("entry %d: the proof is of another leaf", seq)
		}
	}
	s.fits(t, s.proof(t, kinds.Auditor, "/v1/entries/7/proof?size=300"))
}

// At a size of which no checkpoint is kept the hashes are there, and no checkpoint of another size is passed off as its own.
func TestProofAtAnOldSize(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fill(t, 3)
	var before api.LogBody
	s.as(t, kinds.Auditor, "GET", "/v1/log", "").into(t, &before)
	s.fill(t, 40)
	p := s.proof(t, kinds.Auditor, "/v1/entries/1/proof?size=3")
	var hashes tlog.RecordProof
	for _, h := range p.Hashes {
		hashes = append(hashes, hash(t, h))
	}
	if err := tlog.CheckRecord(hashes, 3, hash(t, before.RootHash), 1, hash(t, p.LeafHash)); err != nil || p.TreeSize != 3 {
		t.Errorf("%+v: %v", p, err)
	}
	if p.Checkpoint != nil {
		s.fits(t, p)
	} else if p.TlogProof != nil {
		t.Error("a tlog-proof without a checkpoint")
	}
}

func TestProofRefuses(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent)
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("r1", time.Now()))
	s.AddTenant(t, "umbrella")
	for _, c := range []struct {
		who, token, path string
		status           int
		param            string
	}{
		{"its host", s.tokens[kinds.Host], "/v1/entries/0/proof", 200, ""},
		{"the auditor", s.tokens[kinds.Auditor], "/v1/entries/0/proof", 200, ""},
		{"billing, a report", s.tokens[kinds.Billing], "/v1/entries/1/proof", 200, ""},
		{"billing, a consent", s.tokens[kinds.Billing], "/v1/entries/0/proof", 404, ""},
		{"admin", s.tokens[kinds.Admin], "/v1/entries/0/proof", 404, ""},
		{"operator", s.tokens[kinds.Operator], "/v1/entries/0/proof", 404, ""},
		{"another host", s.token(t, ledgertest.Tenant, kinds.Host, time.Now(), time.Hour), "/v1/entries/0/proof", 404, ""},
		{"another tenant's auditor", s.token(t, "umbrella", kinds.Auditor, time.Now(), time.Hour), "/v1/entries/0/proof", 404, ""},
		{"a seq beyond", s.tokens[kinds.Auditor], "/v1/entries/2/proof", 404, ""},
		{"no seq", s.tokens[kinds.Auditor], "/v1/entries/x/proof", 400, "seq"},
		{"a size beyond", s.tokens[kinds.Auditor], "/v1/entries/0/proof?size=3", 400, "size"},
		{"a tree without it", s.tokens[kinds.Auditor], "/v1/entries/1/proof?size=1", 400, "size"},
		{"size 0", s.tokens[kinds.Auditor], "/v1/entries/0/proof?size=0", 400, "size"},
		{"no size", s.tokens[kinds.Auditor], "/v1/entries/0/proof?size=", 400, "size"},
		{"consistency beyond", s.tokens[kinds.Operator], "/v1/log/consistency?from=1&to=3", 400, "to"},
		{"consistency backwards", s.tokens[kinds.Operator], "/v1/log/consistency?from=2&to=1", 400, "to"},
		{"consistency from beyond", s.tokens[kinds.Operator], "/v1/log/consistency?from=3", 400, "to"},
		{"consistency from nothing", s.tokens[kinds.Operator], "/v1/log/consistency", 400, "from"},
		{"proof maybe", s.tokens[kinds.Host], "/v1/consent-receipts?proof=1", 405, ""},
	} {
		got := s.do(t, "GET", c.path, c.token, "")
		if got.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.who, got.status, got.body, c.status)
		}
		if c.status >= 400 && got.problem(t).Param != c.param {
			t.Errorf("%s: parameter %q, want %q", c.who, got.problem(t).Param, c.param)
		}
	}
	if got := s.as(t, kinds.Host, "POST", "/v1/consent-receipts?proof=yes", consent); got.status != 400 || got.problem(t).Param != "proof" {
		t.Errorf("proof=yes: %d %s", got.status, got.body)
	}
	if n := s.Count(t, "ledger.entries"); n != 2 {
		t.Errorf("a refused request was recorded: %d entries", n)
	}
}

func TestConsistency(t *testing.T) {
	t.Parallel()
	s := newService(t)
	logs := map[int64]api.LogBody{}
	for _, n := range []int{0, 1, 2, 255, 256, 300} {
		s.fill(t, n)
		var l api.LogBody
		s.as(t, kinds.Auditor, "GET", "/v1/log", "").into(t, &l)
		logs[l.Size] = l
	}
	open := func(l api.LogBody) ledger.SignedCheckpoint {
		signed, err := ledger.OpenCheckpoint([]byte(l.Checkpoint), l.Origin, s.Keys.Verifier)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	for from, old := range logs {
		for to, next := range logs {
			if from > to || to == 0 {
				continue
			}
			path := fmt.Sprintf("/v1/log/consistency?from=%d&to=%d", from, to)
			if to == 300 {
				path = fmt.Sprintf("/v1/log/consistency?from=%d", from)
			}
			var c api.ConsistencyBody
			s.as(t, kinds.Operator, "GET", path, "").into(t, &c)
			var hashes []tlog.Hash
			for _, h := range c.Hashes {
				hashes = append(hashes, hash(t, h))
			}
			if _, err := ledger.CheckConsistency(open(old), open(next), hashes); err != nil || c.From != from || c.To != to {
				t.Errorf("%d to %d: %+v, %v", from, to, c, err)
			}
			if to == 300 && (c.Checkpoint == nil || *c.Checkpoint != next.Checkpoint) {
				t.Errorf("%d to the newest: not the newest checkpoint", from)
			}
		}
	}
}

// Eight hosts post at once and ask for proofs: each answer verifies by itself and covers its own entry.
func TestProofOnAppend(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 40 {
				key := fmt.Sprintf("w%d/%d", w, i)
				got := s.as(t, kinds.Host, "POST", "/v1/usage-reports?proof=true", usage(key, time.Now()))
				var r api.RecordedBody
				got.into(t, &r)
				if got.status != http.StatusCreated || r.Proof == nil || r.Proof.Seq != r.Seq || r.Proof.LeafHash != r.LeafHash || r.Proof.TreeSize <= r.Seq {
					t.Errorf("%s: %d %s", key, got.status, got.body)
					return
				}
				s.fits(t, *r.Proof)
			}
		})
	}
	wg.Wait()
}

// A replay proves the first entry, also to another host of the tenant who posts the same; without proof=true there is none.
func TestProofOnReplay(t *testing.T) {
	t.Parallel()
	s := newService(t)
	post := func(token, query string) api.RecordedBody {
		var r api.RecordedBody
		s.do(t, "POST", "/v1/consent-receipts"+query, token, consent, "Idempotency-Key", "grant/1").into(t, &r)
		return r
	}
	if r := post(s.tokens[kinds.Host], ""); r.Proof != nil {
		t.Error("a proof that nobody asked for")
	}
	if r := post(s.tokens[kinds.Host], "?proof=false"); r.Proof != nil {
		t.Error("a proof that was declined")
	}
	for _, token := range []string{s.tokens[kinds.Host], s.token(t, ledgertest.Tenant, kinds.Host, time.Now(), time.Hour)} {
		r := post(token, "?proof=true")
		if r.Proof == nil || r.Proof.Seq != 0 {
			t.Fatalf("%+v", r)
		}
		s.fits(t, *r.Proof)
	}
}

// Whatever route appends offers a proof: it answers 201 with the entry's seq. Of bulk, which does not, entries are proven afterwards.
func TestEveryAppendOffersAProof(t *testing.T) {
	t.Parallel()
	s := newService(t)
	n := 0
	for _, r := range s.api.Routes() {
		appends := slices.ContainsFunc(r.Replies, func(r api.Reply) bool { return r.Status == http.StatusCreated && has(r.Body, "Seq") })
		offers := slices.ContainsFunc(r.Query, func(p api.Param) bool { return p.Name == "proof" })
		if appends != offers {
			t.Errorf("%s %s: appends %v, offers a proof %v", r.Method, r.Path, appends, offers)
		}
		for _, reply := range r.Replies {
			if appends && reply.Status == http.StatusCreated && !has(reply.Body, "Proof") {
				t.Errorf("%s %s: its answer has no place for the proof", r.Method, r.Path)
			}
		}
		if appends {
			n++
		}
	}
	if n < 15 {
		t.Errorf("%d routes append", n)
	}
}

// has says whether an answer has a field, be it an embedded struct's.
func has(body any, field string) bool {
	_, ok := reflect.TypeOf(body).FieldByName(field)
	return ok
}

// An answer's proof is bounded: less than 1 KB of hashes at any size that fits a database.
func TestProofIsSmall(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fill(t, 257)
	p := s.proof(t, kinds.Auditor, "/v1/entries/3/proof")
	raw := 0
	for _, h := range p.Hashes {
		b, err := base64.StdEncoding.DecodeString(h)
		if err != nil {
			t.Fatal(err)
		}
		raw += len(b)
	}
	if raw != 9*32 || len(*p.TlogProof) > 700 {
		t.Errorf("%d bytes of hashes, a text of %d", raw, len(*p.TlogProof))
	}
}
