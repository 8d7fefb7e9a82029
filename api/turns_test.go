package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/assembly"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

func (s *service) turn(t *testing.T, role kinds.Role, id string) (body api.TurnBody) {
	t.Helper()
	got := s.as(t, role, "GET", "/v1/turns/"+url.PathEscape(id), "")
	if got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	got.into(t, &body)
	return body
}

// A turn is shown whole, to its host and to the auditor, and to nobody else.
func TestTurnWhole(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	seqs := s.recordTurn(t, turn)
	for _, role := range []kinds.Role{kinds.Host, kinds.Auditor} {
		got := s.turn(t, role, turn.ID)
		if got.Profile == nil || got.Profile.Seq != seqs[0] || got.Snapshot == nil || got.Snapshot.Seq != seqs[1] || got.Snapshot.Digest != turn.Snapshot["snapshot_digest"] {
			t.Errorf("%s: profile %+v, snapshot %+v", role, got.Profile, got.Snapshot)
		}
		if len(got.Assemblies) != 3 || len(got.Compactions) != 1 || len(got.Recoveries) != 1 || len(got.Findings) != 0 {
			t.Fatalf("%s: %+v", role, got)
		}
		for i, a := range got.Assemblies {
			if a.Seq != seqs[3+2*i] || a.Plan == nil || a.Plan.Seq != seqs[2+2*i] || !a.Plan.RecordedAt.Before(a.RecordedAt) ||
				a.Verdict.Verdict != assembly.Verified || a.Outcome != assembly.Success || len(a.Included) != 3 || len(a.Omitted) != 0 {
				t.Errorf("%s: assembly %d: %+v", role, i, a)
			}
		}
		if got.Compactions[0].Verdict.Verdict != assembly.Verified || got.Recoveries[0].Verdict.Verdict != assembly.Verified {
			t.Errorf("%s: %+v %+v", role, got.Compactions, got.Recoveries)
		}
		if got.Joins != (audit.TurnJoins{Contributions: 9}) {
			t.Errorf("joins %+v", got.Joins)
		}
	}
	for _, id := range []string{"a%2Fb", "%00", "%FF", strings.Repeat("a", 600), "%25"} {
		if got := s.as(t, kinds.Host, "GET", "/v1/turns/"+id, ""); got.status != 404 {
			t.Errorf("the unknown turn %s: %d", id, got.status)
		}
	}
	if got := s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/turns/%s?size=%d", turn.ID, seqs[2]), ""); got.status != 200 || strings.Contains(string(got.body), "asm-1-0\"") {
		t.Errorf("as of before the first assembly: %d %s", got.status, got.body)
	}
	stranger := s.token(t, ledgertest.Tenant, kinds.Host, time.Now(), time.Hour)
	if got := s.do(t, "GET", "/v1/turns/"+turn.ID, stranger, ""); got.status != 404 {
		t.Errorf("another host's token: %d", got.status)
	}
}

// A record of another outcome than the dictated one is recorded as a mismatch, and what it leaves out is shown with why.
func TestMismatchIsRecordedAndReproduced(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	report := turn.Assemblies[0]["report"].(ledgertest.Tree)
	report["contributions"].([]any)[0].(ledgertest.Tree)["disposition"] = "truncated_omitted"
	var recorded api.RecordedBody
	for _, p := range postsOf(t, turn)[:4] {
		s.as(t, kinds.Host, "POST", p.path, string(p.body)).into(t, &recorded)
	}
	if len(recorded.Findings) != 1 || recorded.Findings[0].Code != "C0-R660" {
		t.Errorf("findings %+v", recorded.Findings)
	}
	got := s.turn(t, kinds.Auditor, turn.ID)
	a := got.Assemblies[0]
	if a.Verdict.Verdict != assembly.Mismatch || len(a.Omitted) != 1 || a.Omitted[0].Disposition != "truncated_omitted" || len(a.Included) != 2 {
		t.Errorf("%+v", a)
	}
	var v struct {
		Reproduced bool
		Stored     struct{ Verdict kinds.ContextVerdict }
		Rerun      struct {
			Verdict assembly.Report
			Joined  kinds.ContextJoined
		}
	}
	again := s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/context-assemblies/%d/verification", recorded.Seq), "")
	if again.into(t, &v); again.status != 200 || !v.Reproduced || v.Rerun.Verdict.Verdict != assembly.Mismatch || *v.Rerun.Joined.PlanSeq != got.Assemblies[0].Plan.Seq || len(v.Rerun.Verdict.Coverage) == 0 {
		t.Errorf("%d %s", again.status, again.body)
	}
	for _, path := range []string{"/v1/context-assemblies/0/verification", "/v1/context-recoveries/3/verification"} {
		if got := s.as(t, kinds.Auditor, "GET", path, ""); got.status != 404 {
			t.Errorf("%s is no such record: %d", path, got.status)
		}
	}
}

// A candidate of the profile resolution whose digest is not the recorded revision's has two contents (C0-R115), also where the
// revision is recorded by the lines before, in one stream.
func TestRevisionOfTwoContents(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn, older := twoContents(t)
	s.as(t, kinds.Host, "POST", "/v1/context-profiles", string(ledgertest.JSON(t, older)))
	var recorded api.RecordedBody
	for _, p := range postsOf(t, turn)[:4] {
		s.as(t, kinds.Host, "POST", p.path, string(p.body)).into(t, &recorded)
	}
	if len(recorded.Findings) != 1 || recorded.Findings[0].Code != "C0-R115" {
		t.Errorf("findings %+v", recorded.Findings)
	}
	streamed := newService(t)
	lines := turnLines(t, turn)
	for _, r := range streamed.bulk(t, kinds.Host, "", strings.Join(lines[:3], "\n")) {
		if r.Seq == nil {
			t.Fatalf("%+v", r)
		}
	}
	got := streamed.bulk(t, kinds.Host, "", `{"kind":"context-profile","artifact":`+string(ledgertest.JSON(t, older))+"}\n"+lines[3])
	if len(got) != 2 || got[1].Seq == nil {
		t.Fatalf("streamed: %+v", got)
	}
	var v struct {
		Stored struct{ Verdict kinds.ContextVerdict }
	}
	streamed.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/context-assemblies/%d/verification", *got[1].Seq), "").into(t, &v)
	if found := v.Stored.Verdict.Findings; len(found) != 1 || found[0].Rule != assembly.R115 {
		t.Errorf("streamed: %+v", v)
	}
}

// twoContents is a turn whose assembly names a revision by another digest than that of the profile beside it.
func twoContents(t *testing.T) (turn *ledgertest.Turn, older ledgertest.Tree) {
	t.Helper()
	turn = ledgertest.NewTurn(t, 1)
	older = maps.Clone(turn.Profile)
	older["profile_revision_id"] = "prof-6"
	resolution := turn.Assemblies[0]["profile_resolution"].(ledgertest.Tree)
	resolution["candidates"] = append(resolution["candidates"].([]any), ledgertest.Tree{
		"profile_revision_id": "prof-6", "content_digest": "sha256:" + strings.Repeat("0", 64), "origin": "explicit", "active": false,
	})
	return turn, older
}

// The ledger's own times show what was written ahead: parts that came after the first invocation break the rules.
func TestPartsRecordedAfterTheFact(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	for _, row := range turn.Assemblies[0]["positions"].([]any) {
		for _, a := range row.(ledgertest.Tree)["attempts"].([]any) {
			a.(ledgertest.Tree)["started_at"] = "2026-01-01T00:00:00Z"
		}
	}
	var recorded api.RecordedBody
	for _, p := range postsOf(t, turn)[:4] {
		s.as(t, kinds.Host, "POST", p.path, string(p.body)).into(t, &recorded)
	}
	places := map[string]bool{}
	for _, f := range recorded.Findings {
		places[string(f.Code)] = true
	}
	if !places["C0-R260"] || !places["C0-R305"] {
		t.Errorf("findings %+v", recorded.Findings)
	}
}

func TestVerifyContextAssembly(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	payload := strings.Repeat("secret-payload-text-", 5)
	digest := assembly.PayloadDigest("text", []byte(payload))
	row := turn.Assemblies[0]
	live := row["positions"].([]any)[slices.IndexFunc(row["positions"].([]any), func(p any) bool { return fmt.Sprint(p.(ledgertest.Tree)["position"]) == "10" })].(ledgertest.Tree)
	contribution := live["result"].(ledgertest.Tree)["contributions"].([]any)[0].(ledgertest.Tree)
	contribution["payload_digest"], contribution["kernel_payload_digest"] = digest, digest
	row["report"].(ledgertest.Tree)["contributions"].([]any)[0].(ledgertest.Tree)["payload_digest"] = digest
	seqs := s.recordTurn(t, turn)

	whole := maps.Clone(row)
	whole["profile"], whole["snapshot"], whole["plan"], whole["anchors"] = turn.Profile, turn.Snapshot, turn.Plans[0], []any{}
	show := func(text string) []any {
		return []any{ledgertest.Tree{"position": 10, "ordinal": 0, "payload": text}}
	}
	entries := s.Count(t, "ledger.entries")
	for name, c := range map[string]struct {
		ask     ledgertest.Tree
		verdict assembly.Verdict
		rules   string
	}{
		"a whole record":           {ledgertest.Tree{"record": whole}, assembly.Verified, ""},
		"its payload":              {ledgertest.Tree{"record": whole, "payloads": show(payload)}, assembly.Verified, ""},
		"another payload":          {ledgertest.Tree{"record": whole, "payloads": show(payload[1:] + "?")}, assembly.Mismatch, "C0-R525"},
		"a shorter one":            {ledgertest.Tree{"record": whole, "payloads": show("?")}, assembly.Mismatch, "C0-R525,C0-R530,C0-R530"},
		"a recorded one":           {ledgertest.Tree{"seq": seqs[3]}, assembly.Verified, ""},
		"a recorded one's payload": {ledgertest.Tree{"seq": seqs[3], "payloads": show(payload)}, assembly.Verified, ""},
	} {
		got := s.as(t, kinds.Auditor, "POST", "/v1/verify/context-assembly", string(ledgertest.JSON(t, c.ask)))
		var v api.ContextCheckedBody
		if err := json.Unmarshal(got.body, &struct{ Verdict *assembly.Report }{&v.Verdict}); got.status != 200 || err != nil {
			t.Fatalf("%s: %d %s %v", name, got.status, got.body, err)
		}
		var rules []string
		for _, f := range v.Verdict.Findings {
			rules = append(rules, string(f.Rule))
		}
		if v.Verdict.Verdict != c.verdict || strings.Join(rules, ",") != c.rules || strings.Contains(string(got.body), "secret-payload") {
			t.Errorf("%s: %s %v", name, v.Verdict.Verdict, rules)
		}
	}
	if n := s.Count(t, "ledger.entries"); n != entries {
		t.Errorf("verifying recorded %d entries", n-entries)
	}
	for body, code := range map[string]string{
		`{}`: "missing-member", `{"seq":1,"record":{}}`: "missing-member", `{"seq":0}`: "not-found", `{"record":{"prompt":"x y"}}`: "record_forbidden_content",
		`{"record":{}}`: "record_schema_invalid", `{"seq":3,"payloads":[{}]}`: "missing-member",
	} {
		if got := s.as(t, kinds.Host, "POST", "/v1/verify/context-assembly", body); got.problem(t).Code != code {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}

// Contributions are joined with what was served in the same turn, its cost and its consent.
func TestTurnJoins(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	seqs := s.recordTurn(t, turn)
	const frame = `{"frame":{"provider_id":"board","frame_id":%q},"token_cost":%d}`
	usage := fmt.Sprintf(`{"request_id":"r","turn_id":%q,"customer_id":"c","report":{"budget_requested":2000,"budget_consumed":55,"as_of":%q,"providers":[`+
		`{"provider_id":"board","frames_served":2,"frames_rejected":0,"token_cost":55,"served_frames":[`+fmt.Sprintf(frame, "wi-0-0", 25)+`,`+fmt.Sprintf(frame, "wi-1-0", 30)+`]}]}}`,
		turn.ID, time.Now().UTC().Format(time.RFC3339))
	var report api.RecordedBody
	got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage)
	if got.into(t, &report); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	answer := s.turn(t, kinds.Auditor, turn.ID)
	if answer.Joins != (audit.TurnJoins{Reports: 1, Contributions: 9, Joined: 9, Measured: 6, Consented: 9}) {
		t.Errorf("joins %+v", answer.Joins)
	}
	counts := map[string]int{}
	for _, f := range answer.Findings {
		counts[fmt.Sprint(f.Kind, f.FrameID)]++
		if !slices.Contains(f.Seqs, report.Seq) || !slices.ContainsFunc(f.Seqs, func(seq int64) bool { return slices.Contains(seqs, seq) }) {
			t.Errorf("%+v names not its entries", f)
		}
		if f.Kind == audit.FindingTokensDiffer && (*f.Tokens != 25 || *f.Served != 30) {
			t.Errorf("%+v", f)
		}
	}
	want := map[string]int{
		"source-not-servedwi-2-0": 3, "tokens-differwi-1-0": 3,
		"sensitivity-unconsentedwi-0-0": 3, "sensitivity-unconsentedwi-1-0": 3, "sensitivity-unconsentedwi-2-0": 3,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("found %v, want %v", counts, want)
	}
}

// A contribution is held to the usage report of its own request, and where consent was given and on record nothing is found of it.
func TestTurnJoinsByRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		served map[string]string // by request
		want   map[string]int
		joins  audit.TurnJoins
	}{
		"each its own": {map[string]string{"req-0": "wi-0-0", "req-1": "wi-1-0"}, map[string]int{"source-not-servedwi-2-0": 3},
			audit.TurnJoins{Reports: 2, Contributions: 9, Joined: 9, ByRequest: 6, Measured: 6, Consented: 9}},
		"each the other's": {map[string]string{"req-0": "wi-1-0", "req-1": "wi-0-0"}, map[string]int{"source-not-servedwi-0-0": 3, "source-not-servedwi-1-0": 3, "source-not-servedwi-2-0": 3},
			audit.TurnJoins{Reports: 2, Contributions: 9, Joined: 9, ByRequest: 6, Consented: 9}},
		"one request only": {map[string]string{"req-0": "wi-0-0"}, map[string]int{"source-not-servedwi-1-0": 3, "source-not-servedwi-2-0": 3},
			audit.TurnJoins{Reports: 1, Contributions: 9, Joined: 9, ByRequest: 3, Measured: 3, Consented: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.post(t, kinds.Host, "/v1/provider-declarations", `{"provider_id":"board","provider":{"name":"Board","version":"1","data_flow":{"reads":true,"writes":false,"egress":true,"egress_scopes":["third-party-model"]}},"declared_at":"2026-01-10T07:00:00Z"}`)
			s.post(t, kinds.Host, "/v1/consent-receipts", `{"provider_id":"board","scope":"third-party-model","provider_name":"Board","provider_version":"1","grantor":{"kind":"human","id":"maria"},"granted_at":"2026-01-10T08:00:00Z"}`)
			turn := ledgertest.NewTurn(t, 1)
			s.recordTurn(t, turn)
			reports := map[string]int64{}
			for request, frame := range c.served {
				reports[request] = s.post(t, kinds.Host, "/v1/usage-reports", fmt.Sprintf(`{"request_id":%q,"turn_id":%q,"customer_id":"c","report":{"budget_requested":2000,"budget_consumed":25,"as_of":%q,"providers":[`+
					`{"provider_id":"board","frames_served":1,"frames_rejected":0,"token_cost":25,"served_frames":[{"frame":{"provider_id":"board","frame_id":%q},"token_cost":25}]}]}}`,
					request, turn.ID, time.Now().UTC().Format(time.RFC3339), frame))
			}
			answer := s.turn(t, kinds.Auditor, turn.ID)
			counts := map[string]int{}
			for _, f := range answer.Findings {
				counts[fmt.Sprint(f.Kind, f.FrameID)]++
				if own, ok := reports[fmt.Sprint("req-", f.Position/10-1)]; ok && !slices.Contains(f.Seqs, own) {
					t.Errorf("%+v does not name its request's report %d", f, own)
				}
			}
			if !maps.Equal(counts, c.want) || answer.Joins != c.joins {
				t.Errorf("found %v, want %v; joins %+v", counts, c.want, answer.Joins)
			}
		})
	}
}

// post records something and gives its seq.
func (s *service) post(t *testing.T, role kinds.Role, path, body string) int64 {
	t.Helper()
	var recorded api.RecordedBody
	got := s.as(t, role, "POST", path, body)
	if got.into(t, &recorded); got.status != 201 {
		t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return recorded.Seq
}
