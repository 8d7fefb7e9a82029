package frames

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"ledgerd/internal/strictjson"
)

func TestParseFrameVerdict(t *testing.T) {
	id := FrameID{ProviderID: "w", FrameID: "a"}
	for src, want := range map[string]Verdict{
		`"status":"valid"`:                                {Status: StatusValid},
		`"status":"gone"`:                                 {Status: StatusGone},
		`"status":"unknown","why":1`:                      {Status: StatusUnknown},
		`"status":"stale"`:                                {Status: StatusStale},
		`"status":"stale","replacement_digest":null`:      {Status: StatusStale},
		`"status":"stale","replacement_digest":"d"`:       {Status: StatusStale, ReplacementDigest: SomeDigest("d")},
		`"replacement_digest":"d\u0041","status":"stale"`: {Status: StatusStale, ReplacementDigest: SomeDigest("dA")},
		`"status":"valid","replacement_digest":"d"`:       {Status: StatusValid},
		`"replacement_digest":[7],"status":"gone"`:        {Status: StatusGone},
	} {
		got, err := ParseFrameVerdict([]byte(`{"frame":{"provider_id":"w","frame_id":"a"},` + src + `}`))
		if err != nil || got.Verdict != want || got.Frame != id {
			t.Errorf("%s: got %+v, %v", src, got, err)
		}
	}
	for src, rule := range map[string]strictjson.Rule{
		`"status":"fresh"`:                         strictjson.RuleValue,
		`"status":"Valid"`:                         strictjson.RuleValue,
		`"status":null`:                            strictjson.RuleNull,
		`"verdict":{"status":"valid"}`:             strictjson.RuleMissing,
		`"status":"stale","replacement_digest":7`:  strictjson.RuleType,
		`"replacement_digest":{},"status":"stale"`: strictjson.RuleType,
		`"status":"valid","status":"valid"`:        strictjson.RuleDuplicate,
		`"status":"valid","frame":["w","a"]`:       strictjson.RuleDuplicate,
	} {
		_, err := ParseFrameVerdict([]byte(`{"frame":{"provider_id":"w","frame_id":"a"},` + src + `}`))
		var e *strictjson.Error
		if !errors.As(err, &e) || e.Rule != rule {
			t.Errorf("%s: got %v, want %s", src, err, rule)
		}
	}
}

func TestOneBadVerdictFailsTheResponse(t *testing.T) {
	_, err := ParseVerifyResponse([]byte(`{"verdicts":[{"frame":{"provider_id":"w","frame_id":"a"},"status":"valid"},{"frame":{"provider_id":"w","frame_id":"b"},"status":"?"}]}`))
	var e *strictjson.Error
	if !errors.As(err, &e) || e.Pointer != "/verdicts/1/status" {
		t.Errorf("got %v", err)
	}
	if _, err := ParseVerifyRequest([]byte(`{"frames":null}`)); err == nil {
		t.Error("null frames were accepted")
	}
}

func TestVerifyFindings(t *testing.T) {
	const sha = "sha256:6e73c431a62c4af943a01d9c8a71d4cd0045a41734b033ce34ede25d4c5f8ddd"
	frame := func(id string) string {
		return `{"provider_id":"w","frame_id":"` + id + `","content_digest":"` + sha + `"}`
	}
	r, err := ParseVerifyResponse([]byte(`{"verdicts":[` +
		`{"frame":` + frame("a") + `,"status":"stale","replacement_digest":"md5:1"},` +
		`{"frame":` + frame("a") + `,"status":"valid","replacement_digest":"` + sha + `"},` +
		`{"frame":` + frame("b") + `,"status":"valid","note":{"text":"x"}},` +
		`{"frame":` + frame("b") + `,"status":"valid"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Finding{
		{Code: UnknownMember, Pointer: "/verdicts/2", Document: "SPEC U1"},
		{Code: V4Body, Pointer: "/verdicts/2", Document: "context-reuse V4"},
		{Code: DigestNotSHA256, Pointer: "/verdicts/0/replacement_digest", Document: "SPEC D1"},
		{Code: ReplacementWithoutStale, Pointer: "/verdicts/1/replacement_digest"},
		{Code: ContradictoryVerdicts, Pointer: "/verdicts/1", Document: "context-reuse V2"},
	}
	if got := r.Findings(); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestBodiesAreFound(t *testing.T) {
	for src, want := range map[string][]string{
		`{"frames":[{"provider_id":"w","frame_id":"content"}]}`:                                           nil,
		`{"frames":[{"provider_id":"w","frame_id":"a","content":null}]}`:                                  nil,
		`{"frames":[{"provider_id":"w","frame_id":"a"},{"provider_id":"w","frame_id":"a","content":""}]}`: {"/frames/1"},
		`{"frames":[],"x":{"secret":[{"body":{"a":1}},{"text":1}]}}`:                                      {""},
		`{"content":"x"}`: {""},
		`{"frames":[{"frame_id":"a","frames":[{"body":1}],"provider_id":"w","y":{"frame":{"text":1}}}]}`: {"/frames/0/frames/0", "/frames/0"},
	} {
		r, err := ParseVerifyRequest([]byte(src))
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if !slices.Equal(r.notes.bodies, want) || r.HasBody() != (want != nil) {
			t.Errorf("%s: got %q, want %q", src, r.notes.bodies, want)
		}
	}
}

func TestVerifyShapesAreWrittenAsTheProtocolDoes(t *testing.T) {
	request, err := ParseVerifyRequest([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := ParseVerifyResponse([]byte(`{"verdicts":[{"status":"stale","replacement_digest":"d","frame":{"frame_id":"a","provider_id":"w"}},{"status":"gone","frame":{"frame_id":"a","provider_id":"w"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"verdicts":[{"frame":{"provider_id":"w","frame_id":"a"},"status":"stale","replacement_digest":"d"},{"frame":{"provider_id":"w","frame_id":"a"},"status":"gone"}]}`
	for name, marshal := range map[string]func(any) ([]byte, error){
		"v1": json.Marshal,
		"v2": func(v any) ([]byte, error) { return jsonv2.Marshal(v) },
	} {
		if out, err := marshal(request); err != nil || string(out) != `{"frames":[]}` {
			t.Errorf("%s: %s, %v", name, out, err)
		}
		if out, err := marshal(response); err != nil || string(out) != want {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}

func FuzzParseVerify(f *testing.F) {
	f.Add([]byte(`{"frames":[{"provider_id":"w","frame_id":"a","content":"x"}]}`))
	f.Add([]byte(`{"verdicts":[{"frame":{"provider_id":"w","frame_id":"a"},"status":"stale","replacement_digest":"d"}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		if r, err := ParseVerifyRequest(src); err == nil {
			r.Findings()
			out, _ := json.Marshal(r)
			if again, err := ParseVerifyRequest(out); err != nil || !slices.Equal(again.Frames, r.Frames) {
				t.Errorf("%s: %v", out, err)
			}
		}
		r, err := ParseVerifyResponse(src)
		if err != nil {
			return
		}
		r.Findings()
		out, _ := json.Marshal(r)
		again, err := ParseVerifyResponse(out)
		if err != nil || len(again.Verdicts) != len(r.Verdicts) {
			t.Fatalf("%s: %v", out, err)
		}
		for i := range r.Verdicts {
			if again.Verdicts[i].Frame != r.Verdicts[i].Frame || again.Verdicts[i].Verdict != r.Verdicts[i].Verdict {
				t.Errorf("%d: %+v, was %+v", i, again.Verdicts[i], r.Verdicts[i])
			}
		}
	})
}
