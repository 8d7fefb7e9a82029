package audit_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/receipts"
)

const usage = `{"artifact":{"as_of":"2026-01-10T08:00:00Z","budget_consumed":5,"budget_requested":9,"providers":[{"frames_rejected":0,"frames_served":1,` +
	`"provider_id":"p","served_frames":[{"frame":{"frame_id":"f","provider_id":"p"},"token_cost":5}],"token_cost":5}]},` +
	`"context":{"customer_id":"c","request_id":"r","turn_id":"t"},"receiver":{"findings":[]}}`

// anchored is a log of one entry under a checkpoint of its own.
func anchored(t *testing.T, e audit.StoredEntry) (signed *audit.Anchor, unsigned *audit.Anchor) {
	t.Helper()
	skey, vkey, err := note.GenerateKey(zeros{}, origin)
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
	msg, err := ledger.Checkpoint{Origin: origin, Size: 1, Root: tlog.Hash(e.LeafHash)}.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	return audit.NewAnchor(msg, verifier), audit.NewAnchor(msg)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func resultsOf(r audit.Report) map[audit.CheckName]audit.Result {
	m := map[audit.CheckName]audit.Result{}
	for _, c := range r.Checks {
		m[c.Name] = c.Result
	}
	return m
}

func TestReportSaysWhatWasChecked(t *testing.T) {
	t.Parallel()
	e := stored(kinds.UsageReport.Name, "r", usage)
	signed, unsigned := anchored(t, e)
	check := audit.EntryCheck{Origin: origin}

	x := check.Begin(e)
	r := x.Report()
	if r.Result != audit.NotCheckable || r.ResultOf(audit.CheckInclusion) != audit.NotCheckable || r.ResultOf(audit.CheckProjection) != audit.NotCheckable {
		t.Errorf("what was not run is not passed: %+v", r)
	}
	x.Prove(signed, 0, nil)
	x.Projected("")
	x.Consent(gate("2026-01-09T00:00:00Z", 3))
	r = x.Report()
	if r.Result != audit.Passed || !r.Whole() || r.Against == nil || r.Against.Key == "" || r.Kind != kinds.UsageReport.Name {
		t.Errorf("all passes: %+v", r)
	}
	for _, c := range r.Checks {
		if c.Says == "" || c.Result != audit.Passed {
			t.Errorf("%+v", c)
		}
	}
	for _, code := range []string{"freshness", "claimed-by-poster", "verifier-key", "not-judged-again"} {
		if !slices.ContainsFunc(r.NotChecked, func(l audit.Limit) bool { return l.Code == code && l.Text != "" }) {
			t.Errorf("it does not say that it does not show %s", code)
		}
	}

	x = check.Begin(e)
	x.Prove(unsigned, 0, nil)
	if r := x.Report(); r.ResultOf(audit.CheckCheckpoint) != audit.NotCheckable || r.ResultOf(audit.CheckInclusion) != audit.NotCheckable || r.Against.Key != "" {
		t.Errorf("without a key: %+v", r)
	}
	x.Prove(signed, 0, []tlog.Hash{{}})
	if r := x.Report(); r.ResultOf(audit.CheckInclusion) != audit.Failed || r.Whole() {
		t.Errorf("with another proof: %+v", r)
	}
}

// gate has one grant of consent to p for one scope, that p declared long before.
func gate(granted string, seq int64) *audit.Gate {
	at, _ := time.Parse(time.RFC3339, granted)
	declared := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return audit.NewGate(
		audit.Consents{Grants: []audit.Grant{{Seq: seq, RecordedAt: at, Receipt: receipts.ConsentReceipt{
			ProviderID: "p", Scope: receipts.ThirdPartyModel, Grantor: receipts.Grantor{Kind: receipts.Human, ID: "maria"}, GrantedAt: granted,
		}}}},
		[]audit.Declaration{{Seq: 1, RecordedAt: declared, DeclaredAt: declared, Event: receipts.Declaration{ProviderID: "p", Provider: receipts.ProviderInfo{
			Name: "P", Version: "1", DataFlow: receipts.DataFlow{Egress: true, EgressScopes: []receipts.EgressScope{receipts.ThirdPartyModel}},
		}}}})
}

func TestConsentAtTheInstant(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate *audit.Gate
		want audit.Result
	}{
		"granted and on record": {gate("2026-01-09T00:00:00Z", 3), audit.Passed},
		"granted afterwards":    {gate("2026-01-11T00:00:00Z", 9), audit.Failed},
		"recorded afterwards":   {gate("2026-01-09T00:00:00Z", 9), audit.Failed},
		"nothing declared":      {audit.NewGate(audit.Consents{}, nil), audit.Failed},
	} {
		x := audit.EntryCheck{Origin: origin}.Begin(stored(kinds.UsageReport.Name, "r", usage))
		x.Consent(c.gate)
		r := x.Report()
		if r.ResultOf(audit.CheckConsent) != c.want {
			t.Errorf("%s: %+v", name, r.Checks)
		}
		if !r.Whole() {
			t.Errorf("%s: what consent says is no fault of the record", name)
		}
	}
}

func TestErasedIsNotCheckable(t *testing.T) {
	t.Parallel()
	e := stored(kinds.UsageReport.Name, "r", usage)
	signed, _ := anchored(t, e)
	e.Content, e.ContentSalt = nil, nil
	x := audit.EntryCheck{Origin: origin, Erased: map[int64]bool{7: true}}.Begin(e)
	x.Prove(signed, 0, nil)
	x.Projected("")
	x.Consent(gate("2026-01-09T00:00:00Z", 3))
	r := x.Report()
	want := map[audit.CheckName]audit.Result{
		audit.CheckLeaf: audit.Passed, audit.CheckMeta: audit.Passed, audit.CheckContent: audit.NotCheckable, audit.CheckInclusion: audit.Passed,
		audit.CheckCheckpoint: audit.Passed, audit.CheckKind: audit.NotCheckable, audit.CheckProjection: audit.NotCheckable, audit.CheckConsent: audit.NotCheckable,
	}
	for name, result := range resultsOf(r) {
		if want[name] != result {
			t.Errorf("%s: %s, want %s", name, result, want[name])
		}
	}
	if !r.Whole() || !slices.ContainsFunc(r.NotChecked, func(l audit.Limit) bool { return l.Code == "erased-content" }) {
		t.Errorf("%+v", r)
	}
}

// Each change fails the check that it concerns, and what can't be said any more is not said to hold.
func TestEachChangeFailsItsCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*audit.StoredEntry)
		failed audit.CheckName
	}{
		"leaf hash":      {func(e *audit.StoredEntry) { e.LeafHash = slices.Clone(e.LeafHash); e.LeafHash[0] ^= 1 }, audit.CheckLeaf},
		"envelope":       {func(e *audit.StoredEntry) { e.Envelope = append(slices.Clone(e.Envelope), ' ') }, audit.CheckLeaf},
		"meta salt":      {func(e *audit.StoredEntry) { e.MetaSalt = make([]byte, 16) }, audit.CheckMeta},
		"column":         {func(e *audit.StoredEntry) { e.Key = []byte("other") }, audit.CheckMeta},
		"content":        {func(e *audit.StoredEntry) { e.Content = append(slices.Clone(e.Content), ' ') }, audit.CheckContent},
		"no content":     {func(e *audit.StoredEntry) { e.Content, e.ContentSalt = nil, nil }, audit.CheckContent},
		"another kind's": {func(e *audit.StoredEntry) { *e = stored(kinds.ConsentReceipt.Name, "r", usage) }, audit.CheckKind},
		"no kind":        {func(e *audit.StoredEntry) { *e = stored("no-such-kind", "r", usage) }, audit.CheckKind},
		"sums":           {func(e *audit.StoredEntry) { *e = stored(kinds.UsageReport.Name, "r", wrongSum) }, audit.CheckKind},
	} {
		e := stored(kinds.UsageReport.Name, "r", usage)
		c.change(&e)
		x := audit.EntryCheck{Origin: origin}.Begin(e)
		x.Projected("")
		r := x.Report()
		if r.ResultOf(c.failed) != audit.Failed || r.Whole() || r.Result != audit.Failed {
			t.Errorf("%s: %+v", name, r.Checks)
		}
		if c.failed != audit.CheckLeaf && c.failed != audit.CheckMeta && r.ResultOf(audit.CheckProjection) == audit.Passed {
			t.Errorf("%s: rows are said to follow from it", name)
		}
	}
}

const wrongSum = `{"artifact":{"as_of":"2026-01-10T08:00:00Z","budget_consumed":6,"budget_requested":9,"providers":[{"frames_rejected":0,"frames_served":1,` +
	`"provider_id":"p","served_frames":[{"frame":{"frame_id":"f","provider_id":"p"},"token_cost":5}],"token_cost":5}]},` +
	`"context":{"customer_id":"c","request_id":"r","turn_id":"t"},"receiver":{"findings":[]}}`

func TestReportSetIsItsWorst(t *testing.T) {
	t.Parallel()
	of := func(results ...audit.Result) audit.ReportSet {
		var list []audit.Report
		for i, r := range results {
			list = append(list, audit.Report{Seq: int64(i), Result: r})
		}
		return audit.NewReportSet(list)
	}
	for want, s := range map[audit.Result]audit.ReportSet{
		audit.Passed: of(audit.Passed, audit.Passed), audit.Failed: of(audit.NotCheckable, audit.Failed, audit.Passed), audit.NotCheckable: of(audit.Passed, audit.NotCheckable),
	} {
		if s.Result != want {
			t.Errorf("%s, want %s", s.Result, want)
		}
	}
	if s := of(); s.Result != audit.NotCheckable {
		t.Errorf("a set of none is %s", s.Result)
	}
	if s := of(audit.Passed, audit.Failed, audit.Failed); s.Entries != 3 || s.Results[audit.Failed] != 2 {
		t.Errorf("%+v", s)
	}
}

func TestEveryKindSaysWhatIsCheckedAgain(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		if k.Core == "" {
			t.Errorf("%s: a report can't say what its own check means", k.Name)
		}
	}
}
