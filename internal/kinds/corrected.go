package kinds

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/metering"
)

// Corrected is what a correction corrects: a usage report, or the replacement of an earlier correction.
type Corrected struct {
	Seq       int64 // of its entry
	ReportSeq int64 // of the usage report that it goes back to
	context   usageContext
	report    metering.UsageReport
}

// ReadCorrected reads what a correction of the entry would take back. It refuses an entry of which nothing is left to be taken
// back; *ErasedError for one whose content is gone.
func ReadCorrected(e ledger.Entry) (*Corrected, error) {
	if e.Erased() {
		return nil, ErasedEntry(e)
	}
	content, err := ledger.ParseContent(e.Content)
	if err != nil {
		return nil, Unreadable(e.Seq, err)
	}
	switch e.Meta.Kind {
	case UsageReport.Name:
		c := &Corrected{Seq: e.Seq, ReportSeq: e.Seq}
		c.context, c.report, err = readUsage(recorded(content))
		return c, Unreadable(e.Seq, err)
	case Correction.Name:
		return readReplaced(e.Seq, content)
	}
	return nil, &Rejection{Code: "nothing-to-correct", Detail: "only a usage report, or a correction of one, can be corrected"}
}

func readReplaced(seq int64, content ledger.Content) (*Corrected, error) {
	a, err := ParseCorrection(recorded(content))
	if err != nil {
		return nil, Unreadable(seq, err)
	}
	before, err := decodeReceiver(content.Receiver)
	if err != nil {
		return nil, Unreadable(seq, err)
	}
	if a.Replacement == nil {
		return nil, &Rejection{Code: "nothing-to-correct", Detail: "the correction took the report back whole; report anew under another request_id"}
	}
	return &Corrected{
		Seq: seq, ReportSeq: before.ReportSeq, report: *a.Replacement,
		context: usageContext{before.RequestID, before.TurnID, before.CustomerID},
	}, nil
}

// correctionReceiver is the receiver's part of a correction.
type correctionReceiver struct {
	Corrected correctedJSON    `json:"corrected"`
	Findings  []frames.Finding `json:"findings"`
}

// correctedJSON is what is taken back: whose it was, and the events.
type correctedJSON struct {
	Seq        int64       `json:"seq"`
	ReportSeq  int64       `json:"report_seq"`
	RequestID  string      `json:"request_id"`
	TurnID     string      `json:"turn_id"`
	CustomerID string      `json:"customer_id"`
	AsOf       string      `json:"as_of"`
	Providers  []takenBack `json:"providers"`
}

// takenBack is an event as it was. A frame is an array of id, digest or null, tokens, and its provider where that is another: a
// shorter form than a report's, so that a correction of the largest report fits into an entry.
type takenBack struct {
	ProviderID     string           `json:"provider_id"`
	FramesServed   int64            `json:"frames_served"`
	FramesRejected int64            `json:"frames_rejected"`
	Tokens         int64            `json:"tokens"`
	Frames         []jsontext.Value `json:"frames"`
}

// takenBack is the receiver's record of what a correction takes back.
func (c *Corrected) takenBack() (correctedJSON, error) {
	out := correctedJSON{
		Seq: c.Seq, ReportSeq: c.ReportSeq, RequestID: c.context.requestID, TurnID: c.context.turnID, CustomerID: c.context.customerID,
		AsOf: c.report.AsOf, Providers: []takenBack{},
	}
	verified, err := metering.Verify(c.report)
	if err != nil {
		return out, Unreadable(c.Seq, err)
	}
	events, err := metering.Events(verified)
	if err != nil {
		return out, err
	}
	for _, e := range events {
		t := takenBack{ProviderID: e.ProviderID, FramesServed: e.FramesServed, FramesRejected: e.FramesRejected, Tokens: e.Tokens, Frames: []jsontext.Value{}}
		for _, f := range e.Frames {
			raw, err := json.Marshal(frameTuple(e.ProviderID, f))
			if err != nil {
				return out, err
			}
			t.Frames = append(t.Frames, raw)
		}
		out.Providers = append(out.Providers, t)
	}
	return out, nil
}

func frameTuple(provider string, f metering.ServedFrame) []any {
	tuple := []any{f.Frame.FrameID, nil, f.TokenCost}
	if digest, ok := f.Frame.ContentDigest.Value(); ok {
		tuple[1] = digest
	}
	if f.Frame.ProviderID != provider {
		tuple = append(tuple, f.Frame.ProviderID)
	}
	return tuple
}

// events reads the recorded events again.
func (c correctedJSON) events() ([]metering.Event, error) {
	events := make([]metering.Event, 0, len(c.Providers))
	for _, t := range c.Providers {
		e := metering.Event{ProviderID: t.ProviderID, FramesServed: t.FramesServed, FramesRejected: t.FramesRejected, Tokens: t.Tokens}
		for _, raw := range t.Frames {
			f, err := strictjson.Parse(raw, strictjson.Closed, func(d *strictjson.Decoder) metering.ServedFrame { return decodeTuple(d, t.ProviderID) })
			if err != nil {
				return nil, err
			}
			e.Frames = append(e.Frames, f)
		}
		events = append(events, e)
	}
	return events, nil
}

func decodeTuple(d *strictjson.Decoder, provider string) metering.ServedFrame {
	f := metering.ServedFrame{Frame: frames.FrameID{ProviderID: provider}}
	n := 0
	d.Array(func(i int) {
		switch n++; i {
		case 0:
			f.Frame.FrameID = d.String()
		case 1:
			f.Frame.ContentDigest = frames.DigestOf(d.OptString())
		case 2:
			f.TokenCost = d.Uint32()
		default:
			f.Frame.ProviderID = d.String()
		}
	})
	if n < 3 || n > 4 {
		d.Fail(strictjson.RuleRange, "a frame is an array of three or four")
	}
	return f
}

func decodeReceiver(receiver []byte) (correctedJSON, error) {
	d := strictjson.NewDecoder(receiver, strictjson.Closed)
	var c correctedJSON
	d.Object(
		strictjson.Req("corrected", func() { c = decodeCorrected(d) }),
		strictjson.Req("findings", d.Skip),
	)
	return c, d.Finish()
}

func decodeCorrected(d *strictjson.Decoder) correctedJSON {
	var c correctedJSON
	d.Object(
		strictjson.Req("seq", func() { c.Seq = d.Int64() }),
		strictjson.Req("report_seq", func() { c.ReportSeq = d.Int64() }),
		strictjson.Req("request_id", func() { c.RequestID = d.String() }),
		strictjson.Req("turn_id", func() { c.TurnID = d.String() }),
		strictjson.Req("customer_id", func() { c.CustomerID = d.String() }),
		strictjson.Req("as_of", func() { c.AsOf = d.String() }),
		strictjson.Req("providers", func() {
			d.Array(func(int) {
				var t takenBack
				d.Object(
					strictjson.Req("provider_id", func() { t.ProviderID = d.String() }),
					strictjson.Req("frames_served", func() { t.FramesServed = d.Int64() }),
					strictjson.Req("frames_rejected", func() { t.FramesRejected = d.Int64() }),
					strictjson.Req("tokens", func() { t.Tokens = d.Int64() }),
					strictjson.Req("frames", func() { d.Array(func(int) { t.Frames = append(t.Frames, d.RawValue()) }) }),
				)
				c.Providers = append(c.Providers, t)
			})
		}),
	)
	return c
}
