package frames

import (
	"errors"
	"strconv"

	"ledgerd/internal/strictjson"
)

// DecodeOutcome reads a claimed outcome where d stands, in d's mode. Its form is ours:
//
//	{"retained":[{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:…"}],
//	 "dropped":[{"frame":{…},"reason":{"kind":"stale","replacement_digest":"sha256:…"},"warrants_requery":true}]}
//
// A reason's text (what a provider said when it failed) is not part of it: it is a stranger's text of any length.
func DecodeOutcome(d *strictjson.Decoder) Outcome {
	o := Outcome{Retained: []FrameID{}, Dropped: []DroppedFrame{}}
	d.Object(
		strictjson.Req("retained", func() {
			d.Array(func(int) { o.Retained = append(o.Retained, DecodeFrameID(d)) })
		}),
		strictjson.Req("dropped", func() {
			d.Array(func(int) { o.Dropped = append(o.Dropped, decodeDropped(d)) })
		}),
	)
	return o
}

func decodeDropped(d *strictjson.Decoder) DroppedFrame {
	var f DroppedFrame
	d.Object(
		strictjson.Req("frame", func() { f.Frame = DecodeFrameID(d) }),
		strictjson.Req("reason", func() { f.Reason = decodeReason(d) }),
		strictjson.Req("warrants_requery", func() { f.WarrantsRequery = d.Bool() }),
	)
	return f
}

func decodeReason(d *strictjson.Decoder) DropReason {
	var r DropReason
	d.Object(
		strictjson.Req("kind", func() {
			r.Kind = DropKind(d.String())
			if !d.Failed() && !r.Kind.IsKnown() {
				d.Fail(strictjson.RuleValue, "the kind of a drop is not one of the seven")
			}
		}),
		strictjson.Opt("replacement_digest", func() { r.ReplacementDigest = DigestOf(d.OptString()) }),
	)
	return r
}

// How a claimed outcome can differ from the computed one.
var (
	ErrWronglyRetained = errors.New("the frame must not be reused")
	ErrWronglyDropped  = errors.New("the frame is not dropped for this reason, or not with this advice on re-querying")
	ErrFrameLost       = errors.New("a held frame is in neither list")
)

// OutcomeError is the first difference of a claim.
type OutcomeError struct {
	// Pointer is the place in the claim; the whole of it for a lost frame.
	Pointer string
	// Err is ErrWronglyRetained, ErrWronglyDropped or ErrFrameLost.
	Err error
}

func (e *OutcomeError) Error() string {
	return "checking the claimed outcome at " + strconv.Quote(e.Pointer) + ": " + e.Err.Error()
}

// Unwrap is Err.
func (e *OutcomeError) Unwrap() error { return e.Err }

// CheckClaim compares a claimed outcome with the computed one, order aside. The error is an *OutcomeError.
func (o Outcome) CheckClaim(claim Outcome) error {
	retained := map[FrameID]int{}
	for _, id := range o.Retained {
		retained[id]++
	}
	dropped := map[DroppedFrame]int{}
	for _, d := range o.Dropped {
		dropped[d]++
	}
	for i, id := range claim.Retained {
		if retained[id]--; retained[id] < 0 {
			return &OutcomeError{"/retained/" + strconv.Itoa(i), ErrWronglyRetained}
		}
	}
	for i, d := range claim.Dropped {
		if dropped[d]--; dropped[d] < 0 {
			return &OutcomeError{"/dropped/" + strconv.Itoa(i), ErrWronglyDropped}
		}
	}
	// Every claimed frame has found its own, so fewer of them means that some have none.
	if len(claim.Retained)+len(claim.Dropped) < len(o.Retained)+len(o.Dropped) {
		return &OutcomeError{"", ErrFrameLost}
	}
	return nil
}
