package kinds

import (
	"errors"
	"strconv"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// FrameVerification is one round of context/verify with one provider (context-reuse §4): what was asked, what was answered
// and what the host did with the frames. The event is ours; package frames has its form. A claimed outcome that is not the
// default-deny partition is refused, and so is one that carries frame bodies (V4): a ledger must not come to hold content. Since
// content goes by any name, the two messages are closed at this door: a member that the protocol does not know is refused.
var FrameVerification = Kind{
	Name:     "frame-verification",
	Core:     "the claimed outcome is the default-deny partition of the recorded messages (context-reuse §4)",
	PostedBy: []Role{Host},
	MaxBytes: 1 << 20,
	Tables:   []*Table{&frameVerdicts},
	check:    checkVerification,
	project:  projected(readVerification, verdictRows),
	shape:    func(d *strictjson.Decoder) { frames.DecodeVerification(d) },
}

// frameVerdicts has a row for each frame that was held: "valid" when it was retained, else why it was dropped.
var frameVerdicts = Table{Name: "frame_verdicts", Columns: []Column{
	{Name: "line"}, {Name: "provider_id"}, {Name: "verified_at"}, {Name: "frame_id", Personal: true}, {Name: "content_digest", Personal: true},
	{Name: "result"}, {Name: "replacement_digest", Personal: true},
}}

func checkVerification(s Submission, _ Env) (*Accepted, error) {
	v, err := readVerification(s)
	if err != nil {
		return nil, err
	}
	if at, unknown := unknownIn(v); unknown {
		return nil, &Rejection{
			Code: "frame-body", Pointer: s.ArtifactAt + at,
			Detail: "there is a member that the protocol does not know, and it may hold a frame's content: a verify request or response carries identities only (" + frames.DocReuseV4 + ")",
		}
	}
	return accepted(s, v.Findings(), verdictRows(v))
}

func readVerification(s Submission) (frames.Verification, error) {
	if err := noContext(s); err != nil {
		return frames.Verification{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	v := frames.DecodeVerification(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return v, err
	}
	if v.HasBody() {
		return v, bodyRefused(v, s.ArtifactAt)
	}
	if err := boundVerification(v, s.ArtifactAt); err != nil {
		return v, err
	}
	var e *frames.VerificationError
	if err := v.Check(); errors.As(err, &e) {
		detail := e.Problem
		if e.Document != "" {
			detail += " (" + e.Document + ")"
		}
		return v, &Rejection{Code: "artifact-refused", Pointer: s.ArtifactAt + e.Pointer, Detail: detail}
	}
	return v, nil
}

// unknownIn is the first place in the two messages that has a member which the protocol does not know. It is asked at the door
// only: what is recorded stays readable.
func unknownIn(v frames.Verification) (pointer string, found bool) {
	if at := v.Request.UnknownAt(); len(at) > 0 {
		return "/request" + at[0], true
	}
	if v.Response == nil || len(v.Response.UnknownAt()) == 0 {
		return "", false
	}
	return "/response" + v.Response.UnknownAt()[0], true
}

// bodyRefused names the first place that carries what looks like a frame's content.
func bodyRefused(v frames.Verification, base string) error {
	for _, f := range v.Findings() {
		if f.Code == frames.V4Body {
			base += f.Pointer
			break
		}
	}
	return &Rejection{Code: "frame-body", Pointer: base, Detail: "a verify request or response carries identities only, never frame bodies (" + frames.DocReuseV4 + ")"}
}

func boundVerification(v frames.Verification, base string) error {
	b := bounds{}
	b.id(base+"/provider_id", v.ProviderID)
	b.instant(base+"/verified_at", &v.VerifiedAt)
	for i, id := range v.Request.Frames {
		b.frame(base+"/request/frames/"+strconv.Itoa(i), id)
	}
	if v.Response == nil {
		return b.err
	}
	for i, verdict := range v.Response.Verdicts {
		at := base + "/response/verdicts/" + strconv.Itoa(i)
		b.frame(at+"/frame", verdict.Frame)
		replacement, _ := verdict.ReplacementDigest.Value()
		b.id(at+"/replacement_digest", replacement)
	}
	return b.err
}

func (b *bounds) frame(pointer string, id frames.FrameID) {
	b.id(pointer+"/provider_id", id.ProviderID)
	b.id(pointer+"/frame_id", id.FrameID)
	digest, _ := id.ContentDigest.Value()
	b.id(pointer+"/content_digest", digest)
}

// VerdictValid is the result of a frame that was retained; the others are the kinds of drops.
const VerdictValid = string(frames.StatusValid)

func verdictRows(v frames.Verification) []Rows {
	at, _ := frames.ParseInstant(v.VerifiedAt) // Check has read it
	reasons := map[frames.FrameID]frames.DropReason{}
	for _, d := range v.Partition().Dropped {
		reasons[d.Frame] = d.Reason
	}
	rows := Rows{Table: &frameVerdicts}
	seen := map[frames.FrameID]bool{}
	for _, id := range v.Request.Frames {
		if seen[id] {
			continue
		}
		seen[id] = true
		result := VerdictValid
		reason, dropped := reasons[id]
		if dropped {
			result = string(reason.Kind)
		}
		rows.Values = append(rows.Values, []any{
			int32(len(rows.Values)), id.ProviderID, at, id.FrameID, digestText(id.ContentDigest), result, digestText(reason.ReplacementDigest),
		})
	}
	return []Rows{rows}
}

// digestText is a digest as a nullable column.
func digestText(d frames.Digest) *string {
	value, ok := d.Value()
	if !ok {
		return nil
	}
	return &value
}
