package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/assembly"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
)

// ContextVerificationBody judges a recorded context record again.
type ContextVerificationBody struct {
	Seq  int64  `json:"seq"`
	Kind string `json:"kind"`
	audit.ContextVerification
}

// PresentedBody is a payload that is shown for one check. It is used in memory and kept nowhere.
type PresentedBody struct {
	Position int64  `json:"position"`
	Ordinal  int64  `json:"ordinal"`
	Payload  string `json:"payload"`
}

// ContextCheckBody asks about one assembly: a whole record that is not recorded, or a recorded one by its seq.
type ContextCheckBody struct {
	Record   jsontext.Value  `json:"record,omitzero" jsonschema:"a whole record, with profile, snapshot, plan and anchors in it"`
	Seq      *int64          `json:"seq,omitzero" jsonschema:"instead of record: a recorded assembly"`
	Payloads []PresentedBody `json:"payloads,omitzero" jsonschema:"at most 256; digest, bytes and tokens are checked, and the payload is dropped"`
}

// ContextCheckedBody is the verdict with what it does not prove, and the outcome that the contract dictates.
type ContextCheckedBody struct {
	Verdict assembly.Report   `json:"verdict"`
	Derived *assembly.Outcome `json:"derived" jsonschema:"null where it can't be derived"`
}

// contextReaders may see a turn: the host what it posted itself.
var contextReaders = []kinds.Role{kinds.Host, kinds.Auditor}

func (a *API) contextVerifyRoutes() []*Route {
	again := func(path, name string, kind *kinds.Kind) *Route {
		return &Route{
			Method: "GET", Path: path + "/{seq}/verification", Name: name, Memory: 64, Summary: "Verify a recorded " + kind.Name + " again", Roles: contextReaders,
			Doc: "With the entries that the recorded verdict names it must give that verdict (reproduced); with those that the ledger has now it may give another. " +
				"The coverage says what a verdict does not prove.",
			Segments: seqParam("The record's entry."), Replies: []Reply{{Status: 200, Doc: "Both verdicts.", Body: ContextVerificationBody{}}},
			Problems: []string{"not-found", "erased"},
			handle:   func(c *call) (reply, error) { return a.reverifyContext(c, kind) },
		}
	}
	return []*Route{
		again("/v1/context-assemblies", "reverifyContextAssembly", &kinds.ContextAssembly),
		again("/v1/context-compactions", "reverifyContextCompaction", &kinds.ContextCompaction),
		again("/v1/context-recoveries", "reverifyContextRecovery", &kinds.ContextRecovery),
		{
			Method: "POST", Path: "/v1/verify/context-assembly", Name: "verify-context-assembly", Memory: 64, Summary: "Verify a context assembly without recording it", Roles: contextReaders,
			Doc: "A whole record, or the seq of a recorded one. Payloads that are shown are measured and compared with what the kernel recorded; they are neither stored nor logged. " +
				"Tokens are checked for estimators that are known: chars-div-4-ceil/1.",
			Body: ContextCheckBody{}, Replies: []Reply{{Status: 200, Doc: "The verdict.", Body: ContextCheckedBody{}}},
			Problems: []string{"record_schema_invalid", "record_forbidden_content", "not-found", "erased", "invalid-json", "unknown-member", "missing-member"}, handle: a.verifyContext,
		},
	}
}

func (a *API) recordedContext(c *call, kind *kinds.Kind, seq int64) (*kinds.RecordedContext, error) {
	e, err := a.store.Entry(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), seq)
	if err != nil {
		return nil, err
	}
	if e.Meta.Kind != kind.Name {
		return nil, kinds.ErrNotFound
	}
	return kinds.ReadContext(e)
}

func (a *API) reverifyContext(c *call, kind *kinds.Kind) (reply, error) {
	seq, err := seqSegment(c)
	if err != nil {
		return reply{}, err
	}
	record, err := a.recordedContext(c, kind, seq)
	if err != nil {
		return reply{}, err
	}
	then, err := a.store.ContextPartsAt(c.ctx(), c.who.Tenant, record.Receiver.Joined)
	if err != nil {
		return reply{}, err
	}
	current, err := a.store.ContextParts(c.ctx(), c.who.Tenant, record.Needs())
	if err != nil {
		return reply{}, err
	}
	v, err := audit.ReverifyContext(record, then, current)
	return reply{status: 200, body: ContextVerificationBody{Seq: seq, Kind: kind.Name, ContextVerification: v}}, err
}

const (
	maxPresented      = 256
	maxPresentedBytes = 4 << 20 // of all payloads together, escaped
)

func (a *API) verifyContext(c *call) (reply, error) {
	body, err := readBody(c, assembly.MaxRecordBytes+maxPresentedBytes)
	if err != nil {
		return reply{}, err
	}
	ask, shown, err := parseContextCheck(body)
	if err != nil {
		return reply{}, err
	}
	var report assembly.Report
	if ask.Seq != nil {
		report, err = a.verifyRecorded(c, *ask.Seq, shown)
	} else if report, err = assembly.VerifyJSON(ask.Record, shown...); err != nil {
		err = kinds.RefusedRecord("/record", err)
	}
	answer := ContextCheckedBody{Verdict: report}
	if derived, ok := report.Derived(); ok {
		answer.Derived = &derived
	}
	return reply{status: 200, body: answer}, err
}

func (a *API) verifyRecorded(c *call, seq int64, shown []assembly.Presented) (assembly.Report, error) {
	record, err := a.recordedContext(c, &kinds.ContextAssembly, seq)
	if err != nil {
		return assembly.Report{}, err
	}
	parts, err := a.store.ContextPartsAt(c.ctx(), c.who.Tenant, record.Receiver.Joined)
	if err != nil {
		return assembly.Report{}, err
	}
	v, err := audit.VerifyContext(record, parts, shown...)
	return v.Verdict, err
}

// parseContextCheck reads the question. Just one of record and seq is there.
func parseContextCheck(body []byte) (ask ContextCheckBody, shown []assembly.Presented, err error) {
	d := strictjson.NewWrapper(body)
	d.Object(
		strictjson.Opt("record", func() { ask.Record = d.RawValue() }),
		strictjson.Opt("seq", func() {
			seq := int64(d.Uint64() & strictjson.MaxInteger)
			ask.Seq = &seq
		}),
		strictjson.Opt("payloads", func() {
			d.Array(func(i int) {
				if i >= maxPresented {
					d.Fail(strictjson.RuleRange, "at most 256 payloads are shown at once")
				}
				shown = append(shown, parsePresented(d))
			})
		}),
	)
	if err := d.Finish(); err != nil {
		return ask, nil, err
	}
	if (ask.Record == nil) == (ask.Seq == nil) {
		return ask, nil, &strictjson.Error{Rule: strictjson.RuleMissing, Detail: "just one of record and seq is required"}
	}
	return ask, shown, nil
}

func parsePresented(d *strictjson.Decoder) (p assembly.Presented) {
	d.Object(
		strictjson.Req("position", func() { p.Contribution[0] = int64(d.Uint64() & strictjson.MaxInteger) }),
		strictjson.Req("ordinal", func() { p.Contribution[1] = int64(d.Uint64() & strictjson.MaxInteger) }),
		strictjson.Req("payload", func() { p.Payload = []byte(d.String()) }),
	)
	return p
}
