package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// verified asks for an entry's report, whose checkpoint must be one of the log's own.
func (s *service) verified(t *testing.T, role kinds.Role, seq int64) audit.Report {
	t.Helper()
	got := s.as(t, role, "GET", fmt.Sprintf("/v1/entries/%d/verification", seq), "")
	if got.status != http.StatusOK {
		t.Fatalf("entry %d: %d %s", seq, got.status, got.body)
	}
	var r audit.Report
	got.into(t, &r)
	if r.Seq != seq || r.Against == nil || len(r.NotChecked) == 0 {
		t.Fatalf("entry %d: %+v", seq, r)
	}
	if _, err := ledger.OpenCheckpoint([]byte(r.Against.Checkpoint), s.Keys.Verifier.Name(), s.Keys.Verifier); err != nil {
		t.Errorf("entry %d: %v", seq, err)
	}
	return r
}

func (x *scenario) result(seq int64, name audit.CheckName) audit.Result {
	x.t.Helper()
	return x.s.verified(x.t, kinds.Auditor, seq).ResultOf(name)
}

// Consent is judged at the instant of the egress and by when it was recorded, whatever came later.
func TestEntryVerificationJudgesConsent(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	x.declare("p", "1", x.at(-9), `{"reads":true,"writes":false,"egress":true,"egress_scopes":["third-party-model"]}`)
	before := x.serve("p", "r1", x.at(0), 1)
	nothing := x.serve("p", "r2", x.at(0), 0)
	x.grant("p", "third-party-model", "1", x.at(-8), "")
	after := x.serve("p", "r3", x.at(0), 1)
	for seq, want := range map[int64]audit.Result{before: audit.Failed, nothing: audit.NotCheckable, after: audit.Passed} {
		if got := x.result(seq, audit.CheckConsent); got != want {
			t.Errorf("entry %d: %s, want %s", seq, got, want)
		}
	}
}

func TestEntryVerificationOfBundlesAndTurns(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("k")
	pinned := s.pin(t, key)
	rec, _ := s.postBundle(t, bundle(t, "r", "q", key, nil))
	r := s.verified(t, kinds.Auditor, rec.Seq)
	if r.Result != audit.Passed || r.ResultOf(audit.CheckVerdict) != audit.Passed || r.ResultOf(audit.CheckCurrent) != audit.Passed {
		t.Errorf("a bundle: %+v", r)
	}
	if r := s.verified(t, kinds.Admin, pinned); r.Result != audit.Passed {
		t.Errorf("a policy: %+v", r)
	}
	s.pin(t, signingKey("another"))
	r = s.verified(t, kinds.Auditor, rec.Seq)
	if r.ResultOf(audit.CheckVerdict) != audit.Passed || r.ResultOf(audit.CheckCurrent) != audit.NotCheckable || !r.Whole() {
		t.Errorf("a bundle whose key is no longer relied on: %+v", r)
	}
	for _, seq := range s.recordTurn(t, ledgertest.NewTurn(t, 1)) {
		if r := s.verified(t, kinds.Host, seq); r.Result != audit.Passed {
			t.Errorf("entry %d, %s: %+v", seq, r.Kind, r.Checks)
		}
	}
}

func TestEntryVerificationIsForWhoMayRead(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("r", time.Now()))
	for _, role := range kinds.Roles {
		want := http.StatusOK
		if role == kinds.Admin || role == kinds.Operator {
			want = http.StatusNotFound
		}
		if got := s.as(t, role, "GET", "/v1/entries/0/verification", ""); got.status != want {
			t.Errorf("%s: %d %s", role, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/entries/1/verification", "/v1/entries/9007199254740993/verification"} {
		if got := s.as(t, kinds.Auditor, "GET", path, ""); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := s.as(t, kinds.Auditor, "GET", "/v1/entries/0/verification?at=now", ""); got.status != http.StatusBadRequest {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// What was changed behind the service is said by the answer, and an erasure is no fault.
func TestEntryVerificationSaysWhatFails(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i := range 3 {
		s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage(fmt.Sprint("r", i), time.Now()))
	}
	s.as(t, kinds.Admin, "POST", "/v1/erasures", `{"reason":"asked","seqs":[0]}`)
	if r := s.verified(t, kinds.Auditor, 0); !r.Whole() || r.ResultOf(audit.CheckContent) != audit.NotCheckable || r.ResultOf(audit.CheckInclusion) != audit.Passed {
		t.Errorf("erased: %+v", r)
	}
	for column, check := range map[string]audit.CheckName{"meta": audit.CheckMeta, "envelope": audit.CheckLeaf, "meta_salt": audit.CheckMeta} {
		restore := s.damaged(t, "entries", column, strings.Repeat("x", 16), "seq = 1")
		if r := s.verified(t, kinds.Auditor, 1); r.ResultOf(check) != audit.Failed || r.Whole() || r.Result != audit.Failed {
			t.Errorf("%s: %+v", column, r)
		}
		restore()
	}
	if r := s.verified(t, kinds.Auditor, 1); !r.Whole() {
		t.Errorf("restored: %+v", r)
	}
}
