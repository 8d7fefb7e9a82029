package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ledgerd/api"
	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

func (x *scenario) consents(query string) []audit.ConsentState {
	x.t.Helper()
	var body api.ConsentListBody
	got := x.s.as(x.t, kinds.Auditor, "GET", "/v1/consents"+query, "")
	if got.status != http.StatusOK {
		x.t.Fatalf("%s: %d %s", query, got.status, got.body)
	}
	got.into(x.t, &body)
	return body.Consents
}

// The state of consent at a moment, with its whole history.
func TestConsentsAtAMoment(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	first := x.grant("p", "third-party-model", "1", x.at(-100), x.at(-60))
	second := x.grant("p", "third-party-model", "2", x.at(-50), "")
	x.revoke("p", `"third-party-model"`, x.at(-20))
	x.grant("p", "org-tenant", "1", x.at(-50), "")
	for _, c := range []struct {
		days float64
		want receipts.State
		by   int64
	}{{-101, receipts.NotYetGranted, -1}, {-80, receipts.Live, first}, {-55, receipts.Expired, first}, {-30, receipts.Live, second}, {-10, receipts.Revoked, second}} {
		list := x.consents("?provider_id=p&scope=third-party-model&at=" + x.at(c.days))
		if len(list) != 1 || list[0].State != c.want || len(list[0].Grants) != 2 || len(list[0].Revocations) != 1 {
			t.Errorf("%v days: %+v", c.days, list)
			continue
		}
		if s := list[0]; c.by >= 0 && (*s.DecidedBy != c.by || !s.RecordedAfter) {
			t.Errorf("%v days: decided by %d, recorded after: %v", c.days, *s.DecidedBy, s.RecordedAfter)
		}
	}
	if list := x.consents("?provider_id=p&scope=third-party-index"); len(list) != 1 || list[0].State != receipts.NeverGranted || list[0].DecidedBy != nil {
		t.Errorf("never granted: %+v", list)
	}
	if list := x.consents("?grantor=maria"); len(list) != 2 || list[0].Scope != "org-tenant" || list[0].State != receipts.Live {
		t.Errorf("what maria agreed to: %+v", list)
	}
	if list := x.consents("?grantor=dpo"); len(list) != 0 {
		t.Errorf("what dpo agreed to: %+v", list)
	}
	if list := x.consents("?grantor=maria&grantor_kind=policy"); len(list) != 0 {
		t.Errorf("what a policy called maria agreed to: %+v", list)
	}
	x.revoke("r", `"org-tenant"`, x.at(-1))
	if list := x.consents("?provider_id=r"); len(list) != 1 || list[0].State != receipts.NeverGranted || len(list[0].Revocations) != 1 {
		t.Errorf("taken back without having been given: %+v", list)
	}
	if list := x.consents("?size=1&at=" + x.at(-10)); len(list) != 1 || list[0].State != receipts.Expired {
		t.Errorf("as of the first entry: %+v", list)
	}
}

// The gate answers by time, names exactly the missing scopes, and shows the answer by presence beside it.
func TestGate(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	x.grant("p", "third-party-model", "1", x.at(-100), x.at(-60))
	x.grant("p", "org-tenant", "1", x.at(-100), "")
	x.post(kinds.Host, "/v1/consent-records", fmt.Sprintf(`{"provider_id":"old","data_flow":{"egress":true},"granted_scope":"titles","granted_at":%q}`, x.at(-5)))
	evaluate := func(provider, flow, at string) api.GateAnswerBody {
		t.Helper()
		var a api.GateAnswerBody
		got := x.s.as(t, kinds.Host, "POST", "/v1/consents/evaluate", fmt.Sprintf(`{"provider_id":%q,"provider":{"name":"North","version":"1","data_flow":%s}%s}`, provider, flow, at))
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		got.into(t, &a)
		return a
	}
	both := `{"egress":true,"egress_scopes":["third-party-model","org-tenant","x:y"]}`
	now := evaluate("p", both, "")
	if now.Permitted || now.Error != "ConsentScopeRequired" || fmt.Sprint(now.Scopes) != "[third-party-model x:y]" || fmt.Sprint(now.ByPresence.Scopes) != "[x:y]" || len(now.Consents) != 3 {
		t.Errorf("now: %+v", now)
	}
	then := evaluate("p", strings.Replace(both, `,"x:y"`, "", 1), `,"at":"`+x.at(-80)+`"`)
	if !then.Permitted || then.Error != "" || then.Scopes != nil || !then.ByPresence.Permitted || len(then.Consents) != 2 {
		t.Errorf("then: %+v", then)
	}
	if !slices.ContainsFunc(then.Findings, func(f frames.Finding) bool {
		return f.Code == audit.RecordedAfterCode && f.Pointer == "/data_flow/egress_scopes/0"
	}) || len(now.Findings) != 1 {
		t.Errorf("recorded after the moment: %+v, now: %+v", then.Findings, now.Findings)
	}
	if a := evaluate("old", boolean, ""); !a.Permitted {
		t.Errorf("boolean: %+v", a)
	}
	if a := evaluate("old", boolean, `,"at":"`+x.at(-6)+`"`); a.Permitted || a.Error != "ConsentRequired" || !a.ByPresence.Permitted {
		t.Errorf("boolean, before it was given: %+v", a)
	}
	if a := evaluate("nobody", local, ""); !a.Permitted || len(a.Consents) != 0 {
		t.Errorf("local: %+v", a)
	}
	for body, status := range map[string]int{`{}`: 400, `{"provider_id":"p","provider":{"name":"n","version":"1","data_flow":{}},"at":"soon"}`: 400, `{"provider_id":"p","provider":{"name":"n","version":"1","data_flow":{}},"x":1}`: 400} {
		if got := x.s.as(t, kinds.Host, "POST", "/v1/consents/evaluate", body); got.status != status {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if n := x.s.Count(t, "ledger.entries"); n != 3 {
		t.Errorf("asking left %d entries", n)
	}
}
