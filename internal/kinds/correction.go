package kinds

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/metering"
)

// Correction takes a usage report back and may put another in its place. The report stays as it was recorded; the correction
// projects the difference as usage lines of its own, so that every sum follows. The receiver's part of the content keeps what
// is taken back, so that the lines follow from the content alone.
//
// The key is the seq of what is corrected, so a report is corrected once; a correction with a replacement can itself be
// corrected, by its seq. A replacement keeps as_of: what was used at another time, or by another customer, is taken back here
// and reported anew under another request_id.
var Correction = Kind{
	Name:          "correction",
	Core:          "the replacement is_consistent (context-reuse UR1), and the lines are the difference to what is taken back",
	Unjudged:      "that what is taken back is what the corrected entry holds",
	PostedBy:      []Role{Billing, Admin},
	ReadBy:        []Role{Billing, Admin},
	MaxBytes:      1 << 20,
	Alone:         true,
	KeepsPersonal: true,
	Tables:        []*Table{&corrections, &usageLines},
	check:         checkCorrection,
	project:       projectCorrection,
	refers:        referencesOfCorrection,
	shape:         func(d *strictjson.Decoder) { decodeCorrection(d) },
}

var corrections = Table{Name: "corrections", Columns: []Column{
	{Name: "corrects"}, {Name: "report_seq"}, {Name: "request_id"}, {Name: "customer_id", Personal: true}, {Name: "as_of"}, {Name: "replaced"},
}}

// CorrectionArtifact is the shape of a correction; one of Seq and RequestID names what is corrected.
type CorrectionArtifact struct {
	Seq         *int64                `json:"seq,omitzero" jsonschema:"the usage report, or a correction that has a replacement"`
	RequestID   *string               `json:"request_id,omitzero" jsonschema:"instead of seq: of the usage report"`
	Reason      string                `json:"reason" jsonschema:"why, for the auditors to come; at most 512 bytes"`
	Replacement *metering.UsageReport `json:"replacement,omitzero" jsonschema:"what ought to have been reported, of the same as_of; without one the report is taken back whole"`
}

func decodeCorrection(d *strictjson.Decoder) CorrectionArtifact {
	var a CorrectionArtifact
	d.Object(
		strictjson.Opt("seq", func() { seq := int64(d.Uint64() & strictjson.MaxInteger); a.Seq = &seq }),
		strictjson.Opt("request_id", func() { id := d.String(); a.RequestID = &id }),
		strictjson.Req("reason", func() { a.Reason = d.String() }),
		strictjson.Opt("replacement", func() { r := metering.DecodeUsageReport(d); a.Replacement = &r }),
	)
	return a
}

// ParseCorrection reads a correction and checks all of it that does not depend on what is corrected.
func ParseCorrection(s Submission) (CorrectionArtifact, error) {
	if err := noContext(s); err != nil {
		return CorrectionArtifact{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	a := decodeCorrection(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return a, err
	}
	if (a.Seq == nil) == (a.RequestID == nil) {
		return a, &Rejection{Code: "nothing-to-correct", Pointer: s.ArtifactAt, Detail: "name the report by its seq or by its request_id, and not by both"}
	}
	if a.RequestID != nil {
		if err := CheckKey(s.ArtifactAt+"/request_id", *a.RequestID); err != nil {
			return a, err
		}
	}
	b := bounds{}
	b.name(s.ArtifactAt+"/reason", a.Reason)
	if b.err != nil || a.Replacement == nil {
		return a, b.err
	}
	return a, boundReport(*a.Replacement, s.ArtifactAt+"/replacement")
}

func checkCorrection(s Submission, env Env) (*Accepted, error) {
	a, err := ParseCorrection(s)
	if err != nil {
		return nil, err
	}
	if env.Corrected == nil {
		return nil, &Rejection{Code: "nothing-to-correct", Pointer: s.ArtifactAt, Detail: "there is no such usage report"}
	}
	taken, err := env.Corrected.takenBack()
	if err != nil {
		return nil, err
	}
	var findings []frames.Finding
	if a.Replacement != nil {
		findings = metering.Findings(*a.Replacement)
	}
	p, err := correctionRows(a, taken, s.ArtifactAt)
	if err != nil {
		return nil, err
	}
	content, err := canonical(s, correctionReceiver{Corrected: taken, Findings: withFindings(findings).Findings})
	if err != nil {
		return nil, err
	}
	return &Accepted{Key: p.Key, Content: content, Findings: findings, Rows: p.Rows}, nil
}

func projectCorrection(c ledger.Content) (Projection, error) {
	a, err := ParseCorrection(recorded(c))
	if err != nil {
		return Projection{}, err
	}
	taken, err := decodeReceiver(c.Receiver)
	if err != nil {
		return Projection{}, err
	}
	return correctionRows(a, taken, "")
}

// correctionRows makes the rows of a correction: its own, and the difference of each provider that either side names, in
// canonical order. The frames that are taken back have negative tokens.
func correctionRows(a CorrectionArtifact, taken correctedJSON, base string) (Projection, error) {
	asOf, ok := frames.ParseInstant(taken.AsOf)
	if !ok {
		return Projection{}, &Rejection{Code: "as-of-not-acceptable", Detail: metering.AsOfMalformed}
	}
	asOf = Kept(asOf)
	back, err := taken.events()
	if err != nil {
		return Projection{}, err
	}
	var added []metering.Event
	if a.Replacement != nil {
		if added, err = replacementEvents(*a.Replacement, asOf, base+"/replacement"); err != nil {
			return Projection{}, err
		}
	}
	lines := Rows{Table: &usageLines}
	for i, e := range differences(back, added) {
		f := splitFrames(e.Event)
		for n := range e.negative {
			f.tokens[n] = -f.tokens[n]
		}
		lines.Values = append(lines.Values, []any{
			int32(i), taken.RequestID, taken.TurnID, taken.CustomerID, e.ProviderID, asOf, e.FramesServed, e.FramesRejected, e.Tokens,
			f.providers, f.ids, f.digests, f.tokens, taken.Seq,
		})
	}
	own := Rows{Table: &corrections, Values: [][]any{{taken.Seq, taken.ReportSeq, taken.RequestID, taken.CustomerID, asOf, a.Replacement != nil}}}
	rows := []Rows{own}
	if len(lines.Values) > 0 {
		rows = append(rows, lines)
	}
	return Projection{Key: strconv.FormatInt(taken.Seq, 10), Rows: rows}, nil
}

func replacementEvents(r metering.UsageReport, asOf time.Time, base string) ([]metering.Event, error) {
	verified, err := metering.Verify(r)
	if err != nil {
		return nil, inconsistent(err, base)
	}
	if at, ok := r.AsOfInstant(); !ok || !Kept(at).Equal(asOf) {
		return nil, &Rejection{Code: "as-of-not-acceptable", Pointer: base + "/as_of",
			Detail: "a replacement has the as_of of the report that it replaces; take that back, and report what was used at another time under another request_id"}
	}
	return metering.Events(verified)
}

// difference is what a correction changes of a provider.
type difference struct {
	metering.Event
	negative int // how many of its frames, the first ones, are taken back
}

// differences are those of each provider, in canonical order: what is added, less what is taken back.
func differences(back, added []metering.Event) []difference {
	var list []difference
	index := map[string]int{}
	of := func(provider string) *difference {
		i, known := index[provider]
		if !known {
			i = len(list)
			index[provider] = i
			list = append(list, difference{Event: metering.Event{ProviderID: provider}})
		}
		return &list[i]
	}
	for _, e := range back {
		n := e.Negated()
		d := of(e.ProviderID)
		d.add(n)
		d.negative = len(n.Frames)
	}
	for _, e := range added {
		of(e.ProviderID).add(e)
	}
	slices.SortFunc(list, func(a, b difference) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	return list
}

// add can't overflow: both are sums of 32-bit numbers of what fits into an entry.
func (d *difference) add(e metering.Event) {
	d.FramesServed += e.FramesServed
	d.FramesRejected += e.FramesRejected
	d.Tokens += e.Tokens
	d.Frames = append(d.Frames, e.Frames...)
}
