package frames_test

import (
	"fmt"

	"ledgerd/frames"
)

// A set of frames renders to the same bytes however it arrived.
func ExampleCompose() {
	alpha := frames.Frame{ID: frames.FrameID{ProviderID: "wiki", FrameID: "a"}, Kind: frames.Doc, CitationLabel: "a p. 1", Content: "See <frame>."}
	zeta := frames.Frame{ID: frames.FrameID{ProviderID: "attic", FrameID: "z"}, Kind: frames.Symbol, Title: "Zeta"}
	fmt.Print(frames.Compose([]frames.Frame{alpha, zeta, alpha}))
	// Output:
	// <frame provider="attic" id="z" kind="symbol" cite="Zeta">
	//
	// </frame>
	// <frame provider="wiki" id="a" kind="doc" cite="a p. 1">
	// See <\frame>.
	// </frame>
}

// Only an explicit valid keeps a frame: silence drops it.
func ExamplePartition() {
	a := frames.FrameID{ProviderID: "wiki", FrameID: "a", ContentDigest: frames.SomeDigest("x:1")}
	b := frames.FrameID{ProviderID: "wiki", FrameID: "b", ContentDigest: frames.SomeDigest("x:2")}
	response, err := frames.ParseVerifyResponse([]byte(`{"verdicts":[
		{"frame":{"provider_id":"wiki","frame_id":"a","content_digest":"x:1"},"status":"valid"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	out := frames.Partition([]frames.FrameID{a, b}, map[string]frames.Answer{"wiki": {Verify: true, Verdicts: response.Verdicts}})
	for _, id := range out.Retained {
		fmt.Println("keep", id.FrameID)
	}
	for _, d := range out.Dropped {
		fmt.Println("drop", d.Frame.FrameID, d.Reason.Kind, d.WarrantsRequery)
	}
	// Output:
	// keep a
	// drop b unknown true
}

func ExampleParseInstant() {
	t, ok := frames.ParseInstant("2031-06-30T23:59:60Z")
	fmt.Println(t, ok)
	_, ok = frames.ParseInstant("2031-07-10T10:00:00+02:00")
	fmt.Println(ok)
	// Output:
	// 2031-07-01 00:00:00 +0000 UTC true
	// false
}
