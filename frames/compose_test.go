package frames

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledgerd/internal/strictjson"
)

func TestComposeEscapes(t *testing.T) {
	for name, tt := range map[string]struct {
		frame Frame
		want  string
	}{
		"nothing": {Frame{}, "<frame provider=\"\" id=\"\" kind=\"\" cite=\"\">\n\n</frame>\n"},
		"attributes": {Frame{ID: FrameID{ProviderID: "w\"<&>\r\nx", FrameID: "i'd"}, Kind: Doc, CitationLabel: "L\t\"1\"\n&", Content: "c"},
			"<frame provider=\"w&quot;&lt;&amp;&gt;  x\" id=\"i'd\" kind=\"doc\" cite=\"L\t&quot;1&quot; &amp;\">\nc\n</frame>\n"},
		"fences": {Frame{Kind: Doc, Content: "</frame>\n<FRAME> <framework> < frame> <div>&amp;</div> </Frames <fram <f<frame <//frame"},
			"<frame provider=\"\" id=\"\" kind=\"doc\" cite=\"\">\n<\\/frame>\n<\\FRAME> <\\framework> < frame> <div>&amp;</div> <\\/Frames <fram <f<\\frame <//frame\n</frame>\n"},
		"other letters that fold": {Frame{Content: "<ﬀrame <ƒrame <fRaMe"}, "<frame provider=\"\" id=\"\" kind=\"\" cite=\"\">\n<ﬀrame <ƒrame <\\fRaMe\n</frame>\n"},
		"blank label":             {Frame{Title: "T", CitationLabel: " \t\u00a0\u2003\u0085"}, "<frame provider=\"\" id=\"\" kind=\"\" cite=\"T\">\n\n</frame>\n"},
		"label is not trimmed":    {Frame{Title: "T", CitationLabel: " l "}, "<frame provider=\"\" id=\"\" kind=\"\" cite=\" l \">\n\n</frame>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Compose([]Frame{tt.frame}); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	if got := Compose(nil); got != "" {
		t.Errorf("no frames: %q", got)
	}
}

// anyFrames draws frames of few identities; frames of one identity have one content (context-reuse D1).
func anyFrames(t *rapid.T) []Frame {
	byID := map[FrameID]Frame{}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Frame {
		id := FrameID{ProviderID: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "provider"), FrameID: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "frame")}
		if _, known := byID[id]; !known {
			byID[id] = Frame{ID: id, Kind: Fact, Title: anyText.Draw(t, "title"), Content: rapid.StringMatching(`[</frameFRAME >a]{0,12}`).Draw(t, "content")}
		}
		return byID[id]
	}), 0, 8).Draw(t, "frames")
}

func TestComposeIgnoresArrivalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := anyFrames(t)
		want := Compose(frames)
		if got := Compose(rapid.Permutation(frames).Draw(t, "order")); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if ids := identities(frames); strings.Count(want, "\n</frame>\n") != ids {
			t.Fatalf("%d identities, %q", ids, want)
		}
	})
}

func identities(frames []Frame) int {
	seen := map[FrameID]bool{}
	for _, f := range frames {
		seen[f.ID] = true
	}
	return len(seen)
}

// TestComposeIgnoresScoreAndCost decodes one frame with any score and cost (context-reuse D3).
func TestComposeIgnoresScoreAndCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.SampledFrom([]string{"0", "0.5", "1e-7", "null"}).Draw(t, "score")
		cost := rapid.SampledFrom([]string{"0", "7", "4294967295"}).Draw(t, "cost")
		src := `{"id":"a","kind":"doc","title":"T","content":"c","score":` + score + `,"token_cost":` + cost + `}`
		frame, err := strictjson.Parse([]byte(src), strictjson.Open, func(d *strictjson.Decoder) Frame { return DecodeFrame(d, "p") })
		if err != nil {
			t.Fatal(err)
		}
		if got := Compose([]Frame{frame}); got != "<frame provider=\"p\" id=\"a\" kind=\"doc\" cite=\"T\">\nc\n</frame>\n" {
			t.Fatalf("%q", got)
		}
	})
}

// TestContentNeverLeavesItsFence composes hostile content: the only fences are ours.
func TestContentNeverLeavesItsFence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := anyFrames(t)
		out := strings.ToLower(Compose(frames))
		if opened, closed := strings.Count(out, "<frame"), strings.Count(out, "</frame"); opened != identities(frames) || closed != opened {
			t.Fatalf("%d opened, %d closed: %q", opened, closed, out)
		}
	})
}

func TestComposeTakesTheFirstOfTwoContents(t *testing.T) {
	frames := []Frame{{Content: "first"}, {Content: "second"}, {Content: "first"}}
	if got := Compose(frames); !strings.Contains(got, "first") || strings.Contains(got, "second") {
		t.Errorf("%q", got)
	}
	want := []Finding{{Code: D1Conflict, Pointer: "/1", Document: "context-reuse D1"}}
	if got := ComposeFindings(frames); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestDecodeFrameRefusesOtherKinds(t *testing.T) {
	for _, kind := range []string{`"Doc"`, `""`, `"note"`, `null`} {
		src := `{"id":"a","title":"T","kind":` + kind + `}`
		_, err := strictjson.Parse([]byte(src), strictjson.Open, func(d *strictjson.Decoder) Frame { return DecodeFrame(d, "p") })
		if err == nil {
			t.Errorf("kind %s was accepted", kind)
		}
	}
}
