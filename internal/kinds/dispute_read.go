package kinds

import (
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// maxFindingSeqs bounds the entries that a finding of a dispute lists.
const maxFindingSeqs = 64

func readDispute(s Submission) (DisputeArtifact, error) {
	a := DisputeArtifact{Rules: FirstDisputeRules}
	if err := noContext(s); err != nil {
		return a, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	d.Object(
		strictjson.Req("dispute_id", func() { a.DisputeID = d.String() }),
		strictjson.Opt("rules", func() { a.Rules = d.String() }),
		strictjson.Req("question", func() { a.Question = DecodeDisputeQuestion(d) }),
		strictjson.Req("reason", func() { a.Reason = d.String() }),
		strictjson.Req("against", func() { a.Against = decodeTree(d) }),
		strictjson.Req("result", func() { a.Result = oneOf(d, DisputeExplained, DisputeUpheld, DisputeInconclusive) }),
		strictjson.Req("failures", func() { a.Failures = decodeDisputeFindings(d) }),
		strictjson.Req("open", func() { a.Open = decodeDisputeFindings(d) }),
		strictjson.Req("levels", func() { a.Levels = decodeLevels(d) }),
		strictjson.Req("differences", func() { a.Differences = decodeDifferences(d) }),
		strictjson.Req("entries", func() { a.Entries = decodeDisputeEntries(d) }),
	)
	if err := finish(d, s.ArtifactAt); err != nil {
		return a, err
	}
	return a, boundDispute(a, s.ArtifactAt)
}

// boundDispute also demands that the result follows from what was found.
func boundDispute(a DisputeArtifact, base string) error {
	if err := CheckKey(base+"/dispute_id", a.DisputeID); err != nil {
		return err
	}
	b := bounds{}
	b.name(base+"/rules", a.Rules)
	b.name(base+"/reason", a.Reason)
	if b.err == nil {
		b.err = a.Question.Check(base + "/question")
	}
	if b.err == nil && a.Result != DisputeResult(len(a.Failures), len(a.Open)) {
		b.err = &Rejection{Code: "artifact-refused", Pointer: base + "/result", Detail: "the result is not the one that follows from failures and open"}
	}
	return b.err
}

// DisputeResult is the result by what was found: any failure makes it upheld, anything open inconclusive.
func DisputeResult(failures, open int) string {
	switch {
	case failures > 0:
		return DisputeUpheld
	case open > 0:
		return DisputeInconclusive
	}
	return DisputeExplained
}

// DecodeDisputeQuestion reads what is disputed. Use Check afterwards.
func DecodeDisputeQuestion(d *strictjson.Decoder) DisputeQuestion {
	var q DisputeQuestion
	d.Object(q.Members(d)...)
	return q
}

// Members are the members of a question, for a wrapper that has more beside them.
func (q *DisputeQuestion) Members(d *strictjson.Decoder) []strictjson.Member {
	return []strictjson.Member{
		strictjson.Opt("customer_id", func() { q.CustomerID = d.String() }),
		strictjson.Opt("from", func() { q.From = decodeInstant(d) }),
		strictjson.Opt("to", func() { q.To = decodeInstant(d) }),
		strictjson.Opt("billing_event", func() { q.BillingEvent = d.String() }),
		strictjson.Opt("request_id", func() { q.RequestID = d.String() }),
		strictjson.Opt("receipt_id", func() { q.ReceiptID = d.String() }),
	}
}

func decodeInstant(d *strictjson.Decoder) *time.Time {
	t, ok := frames.ParseRFC3339(d.String())
	if !d.Failed() && (!ok || t.Year() < 1) {
		d.Fail(strictjson.RuleValue, "an RFC 3339 time is required")
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}

// Check demands that just one thing is disputed. The error is a *Rejection, with a pointer below base.
func (q DisputeQuestion) Check(base string) error {
	b, asked := bounds{}, 0
	for _, id := range [...]struct{ name, value string }{
		{"/customer_id", q.CustomerID}, {"/billing_event", q.BillingEvent}, {"/request_id", q.RequestID}, {"/receipt_id", q.ReceiptID},
	} {
		b.id(base+id.name, id.value)
		if id.value != "" {
			asked++
		}
	}
	period := q.From != nil && q.To != nil && q.From.Before(*q.To)
	switch {
	case b.err != nil:
		return b.err
	case asked != 1:
		return &Rejection{Code: "dispute-unclear", Pointer: base, Detail: "just one of customer_id, billing_event, request_id and receipt_id is disputed at a time"}
	case q.CustomerID != "" && !period:
		return &Rejection{Code: "dispute-unclear", Pointer: base + "/to", Detail: "a customer's usage is disputed over a period, from before to"}
	case q.CustomerID == "" && (q.From != nil || q.To != nil):
		return &Rejection{Code: "dispute-unclear", Pointer: base + "/from", Detail: "a period belongs to a customer_id only"}
	}
	return nil
}

// Same says whether two questions ask for the same.
func (q DisputeQuestion) Same(other DisputeQuestion) bool {
	same := func(a, b *time.Time) bool { return a == nil && b == nil || a != nil && b != nil && a.Equal(*b) }
	return q.CustomerID == other.CustomerID && q.BillingEvent == other.BillingEvent && q.RequestID == other.RequestID && q.ReceiptID == other.ReceiptID &&
		same(q.From, other.From) && same(q.To, other.To)
}

func decodeDisputeFindings(d *strictjson.Decoder) []DisputeFinding {
	list := []DisputeFinding{}
	d.Array(func(int) {
		var f DisputeFinding
		d.Object(
			strictjson.Req("rule", func() { f.Rule = d.String() }),
			strictjson.Req("times", func() { f.Times = decodeSeq(d) }),
			strictjson.Req("seqs", func() { f.Seqs = decodeSeqs(d, maxFindingSeqs) }),
			strictjson.Req("text", func() { f.Text = d.String() }),
		)
		list = append(list, f)
	})
	return list
}

func decodeLevels(d *strictjson.Decoder) []DisputeLevel {
	list := []DisputeLevel{}
	d.Array(func(int) {
		var l DisputeLevel
		d.Object(
			strictjson.Req("level", func() { l.Level = d.String() }),
			strictjson.Req("entries", func() { l.Entries = decodeSeq(d) }),
			strictjson.Req("tokens", func() { l.Tokens = d.String() }),
		)
		list = append(list, l)
	})
	return list
}

func decodeDifferences(d *strictjson.Decoder) []DisputeDifference {
	list := []DisputeDifference{}
	d.Array(func(int) {
		var l DisputeDifference
		d.Object(
			strictjson.Req("level", func() { l.Level = d.String() }),
			strictjson.Req("before", func() { l.Before = d.String() }),
			strictjson.Req("tokens", func() { l.Tokens = d.String() }),
		)
		list = append(list, l)
	})
	return list
}

func decodeDisputeEntries(d *strictjson.Decoder) DisputeEntries {
	var e DisputeEntries
	seqs := func(name string, to *[]int64) strictjson.Member {
		return strictjson.Req(name, func() { *to = decodeSeqs(d, 4*MaxDisputeReports) })
	}
	d.Object(
		seqs("intents", &e.Intents), seqs("outcomes", &e.Outcomes), seqs("reports", &e.Reports), seqs("consents", &e.Consents), seqs("receipts", &e.Receipts), seqs("configs", &e.Configs),
	)
	return e
}

// decodeSeqs reads at most a number of seqs, ascending, each once.
func decodeSeqs(d *strictjson.Decoder, most int) []int64 {
	list := []int64{}
	d.Array(func(i int) {
		seq := decodeSeq(d)
		switch {
		case i >= most:
			d.Fail(strictjson.RuleRange, "it names more entries than it may")
		case i > 0 && !d.Failed() && seq <= list[i-1]:
			d.Fail(strictjson.RuleValue, "seqs ascend, each once")
		default:
			list = append(list, seq)
		}
	})
	return list
}
