package audit

import (
	"errors"
	"slices"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// orderCase is {"emitted":[FrameId…],"canonical":[FrameId…]}. The verdict is whether the emitted order is canonical.
type orderCase struct{ emitted, canonical []frames.FrameID }

func decodeOrderCase(d *strictjson.Decoder) orderCase {
	var c orderCase
	d.Object(
		strictjson.Req("emitted", func() { c.emitted = decodeIDs(d) }),
		strictjson.Req("canonical", func() { c.canonical = decodeIDs(d) }),
	)
	return c
}

func decodeIDs(d *strictjson.Decoder) (ids []frames.FrameID) {
	d.Array(func(int) { ids = append(ids, frames.DecodeFrameID(d)) })
	return ids
}

var errNotCanonical = errors.New("the order is not the canonical one")

func (c orderCase) judge() judgement {
	var err error
	if !frames.IsCanonical(c.emitted) {
		err = errNotCanonical
	}
	j := checked(err, frames.OrderFindings(c.emitted))
	j.expect(slices.Equal(frames.Canonical(c.emitted), c.canonical), "canonical differs")
	return j
}

// composeCase is {"frames":[{"provider_id":…,"frame":…}…],"rendered":…}. The verdict is whether rendered is what the
// composition gives, to the byte.
type composeCase struct {
	frames   []frames.Frame
	rendered string
}

func decodeComposeCase(d *strictjson.Decoder) composeCase {
	var c composeCase
	d.Object(
		strictjson.Req("frames", func() {
			d.Array(func(int) { c.frames = append(c.frames, decodeOffered(d)) })
		}),
		strictjson.Req("rendered", func() { c.rendered = d.String() }),
	)
	return c
}

func decodeOffered(d *strictjson.Decoder) frames.Frame {
	var provider string
	var f frames.Frame
	d.Object(
		strictjson.Req("provider_id", func() { provider = d.String() }),
		strictjson.Req("frame", func() { f = frames.DecodeFrame(d, "") }),
	)
	f.ID.ProviderID = provider // which may stand after the frame
	return f
}

var errOtherBytes = errors.New("the rendered bytes are not those of the composition")

func (c composeCase) judge() judgement {
	var err error
	if frames.Compose(c.frames) != c.rendered {
		err = errOtherBytes
	}
	return checked(err, frames.ComposeFindings(c.frames))
}

// partitionCase is what a host held, whom it could ask, what it was answered and how it says it split the frames. The
// verdict is whether that claim is true.
type partitionCase struct {
	held      []frames.FrameID
	answers   map[string]frames.Answer
	responses map[string]frames.VerifyResponse
	claimed   frames.Outcome
}

func decodePartitionCase(d *strictjson.Decoder) partitionCase {
	c := partitionCase{answers: map[string]frames.Answer{}, responses: map[string]frames.VerifyResponse{}}
	d.Object(
		strictjson.Req("providers", func() {
			d.Array(func(int) {
				id, answer := decodeProvider(d)
				c.answers[id] = answer
			})
		}),
		strictjson.Req("held", func() { c.held = decodeIDs(d) }),
		strictjson.Req("responses", func() {
			d.Map(func(id string) { c.responses[id] = frames.DecodeVerifyResponse(d) })
		}),
		strictjson.Req("claimed", func() { c.claimed = frames.DecodeOutcome(d) }),
	)
	return c
}

func decodeProvider(d *strictjson.Decoder) (id string, a frames.Answer) {
	d.Object(
		strictjson.Req("id", func() { id = d.String() }),
		strictjson.Req("verify", func() { a.Verify = d.Bool() }),
		strictjson.Req("behaviour", func() {
			behaviour := d.String()
			a.Failed = behaviour == "error"
			if !d.Failed() && !a.Failed && behaviour != "answers" {
				d.Fail(strictjson.RuleValue, "a provider answers or errs")
			}
		}),
	)
	return id, a
}

func (c partitionCase) judge() judgement {
	var findings []frames.Finding
	for id, response := range c.responses {
		findings = append(findings, response.Findings()...)
		if answer, registered := c.answers[id]; registered {
			answer.Verdicts = response.Verdicts
			c.answers[id] = answer
		}
	}
	return checked(frames.Partition(c.held, c.answers).CheckClaim(c.claimed), findings)
}
