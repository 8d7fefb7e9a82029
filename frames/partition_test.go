package frames

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledgerd/internal/strictjson"
)

func digested(provider, frame string) FrameID {
	return FrameID{provider, frame, SomeDigest("x")}
}

func TestPartitionGivesEveryReasonInTheReferencesOrder(t *testing.T) {
	bare := FrameID{ProviderID: "wiki", FrameID: "bare"}
	held := []FrameID{digested("wiki", "a"), digested("quiet", "q"), digested("wiki", "b"), bare, digested("orphan", "o"),
		digested("wiki", "c"), digested("wiki", "d"), digested("broken", "k"), digested("wiki", "e")}
	verdict := func(id string, s Status, replacement Digest) FrameVerdict {
		return FrameVerdict{Frame: digested("wiki", id), Verdict: Verdict{s, replacement}}
	}
	other := FrameVerdict{Frame: FrameID{"wiki", "d", SomeDigest("y")}, Verdict: Verdict{Status: StatusValid}}
	got := Partition(held, map[string]Answer{
		"wiki": {Verify: true, Verdicts: []FrameVerdict{
			other, verdict("c", StatusGone, Digest{}), verdict("a", StatusValid, Digest{}), verdict("b", StatusStale, SomeDigest("y")),
			verdict("b", StatusValid, Digest{}), verdict("e", StatusUnknown, Digest{}),
			{Frame: bare, Verdict: Verdict{Status: StatusValid}},
		}},
		"quiet":  {Verdicts: []FrameVerdict{{Frame: digested("quiet", "q"), Verdict: Verdict{Status: StatusValid}}}},
		"broken": {Verify: true, Failed: true, Verdicts: []FrameVerdict{{Frame: digested("broken", "k"), Verdict: Verdict{Status: StatusValid}}}},
	})
	if !slices.Equal(got.Retained, []FrameID{digested("wiki", "a")}) {
		t.Errorf("retained %+v", got.Retained)
	}
	want := []DroppedFrame{
		{bare, DropReason{Kind: DropNoDigest}, true},
		{digested("wiki", "b"), DropReason{DropStale, SomeDigest("y")}, true},
		{digested("wiki", "c"), DropReason{Kind: DropGone}, false},
		{digested("wiki", "d"), DropReason{Kind: DropUnknown}, true},
		{digested("wiki", "e"), DropReason{Kind: DropUnknown}, true},
		{digested("quiet", "q"), DropReason{Kind: DropVerifyUnsupported}, true},
		{digested("orphan", "o"), DropReason{Kind: DropUnknownProvider}, true},
		{digested("broken", "k"), DropReason{Kind: DropVerifyFailed}, true},
	}
	if !slices.Equal(got.Dropped, want) {
		t.Errorf("dropped %+v", got.Dropped)
	}
}

func anyHeld(t *rapid.T) ([]FrameID, map[string]Answer) {
	id := rapid.Custom(func(t *rapid.T) FrameID {
		id := FrameID{ProviderID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "provider"), FrameID: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "frame")}
		if rapid.Bool().Draw(t, "has digest") {
			id.ContentDigest = SomeDigest(rapid.SampledFrom([]string{"", "d"}).Draw(t, "digest"))
		}
		return id
	})
	status := rapid.SampledFrom([]Status{StatusValid, StatusStale, StatusGone, StatusUnknown})
	answers := map[string]Answer{}
	for _, provider := range []string{"a", "b"} {
		answers[provider] = Answer{
			Verify: rapid.IntRange(0, 3).Draw(t, "verify") > 0,
			Failed: rapid.IntRange(0, 3).Draw(t, "failed") == 0,
			Verdicts: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) FrameVerdict {
				return FrameVerdict{Frame: id.Draw(t, "of"), Verdict: Verdict{Status: status.Draw(t, "status")}}
			}), 0, 6).Draw(t, "verdicts"),
		}
	}
	return rapid.SliceOfN(id, 0, 10).Draw(t, "held"), answers
}

func TestPartitionIsTotalAndDefaultDeny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		held, answers := anyHeld(t)
		out := Partition(held, answers)
		all := slices.Clone(out.Retained)
		for _, d := range out.Dropped {
			all = append(all, d.Frame)
			if d.WarrantsRequery != (d.Reason.Kind != DropGone) || !d.Reason.Kind.IsKnown() {
				t.Fatalf("%+v", d)
			}
		}
		if !slices.Equal(Canonical(all), Canonical(held)) {
			t.Fatalf("held %+v, split into %+v", held, all)
		}
		for _, id := range out.Retained {
			a := answers[id.ProviderID]
			i := slices.IndexFunc(a.Verdicts, func(v FrameVerdict) bool { return v.Frame == id })
			if !a.Verify || a.Failed || !id.IsVerifiable() || i < 0 || a.Verdicts[i].Status != StatusValid {
				t.Fatalf("%+v was retained by %+v", id, a)
			}
		}
		if err := out.CheckClaim(out); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCheckClaimFindsEveryLie(t *testing.T) {
	a, b, c := digested("p", "a"), digested("p", "b"), digested("p", "c")
	gone := DroppedFrame{b, DropReason{Kind: DropGone}, false}
	stale := DroppedFrame{c, DropReason{DropStale, SomeDigest("y")}, true}
	truth := Outcome{Retained: []FrameID{a}, Dropped: []DroppedFrame{gone, stale}}
	requery, reason, noDigest := gone, stale, stale
	requery.WarrantsRequery = true
	reason.Reason = DropReason{Kind: DropUnknown}
	noDigest.Reason.ReplacementDigest = Digest{}
	for name, tt := range map[string]struct {
		claim   Outcome
		pointer string
		err     error
	}{
		"true":          {truth, "", nil},
		"other order":   {Outcome{[]FrameID{a}, []DroppedFrame{stale, gone}}, "", nil},
		"kept":          {Outcome{[]FrameID{a, b}, []DroppedFrame{stale}}, "/retained/1", ErrWronglyRetained},
		"kept twice":    {Outcome{[]FrameID{a, a}, []DroppedFrame{gone, stale}}, "/retained/1", ErrWronglyRetained},
		"requery":       {Outcome{[]FrameID{a}, []DroppedFrame{requery, stale}}, "/dropped/0", ErrWronglyDropped},
		"other reason":  {Outcome{[]FrameID{a}, []DroppedFrame{gone, reason}}, "/dropped/1", ErrWronglyDropped},
		"other digest":  {Outcome{[]FrameID{a}, []DroppedFrame{gone, noDigest}}, "/dropped/1", ErrWronglyDropped},
		"lost":          {Outcome{[]FrameID{a}, []DroppedFrame{stale}}, "", ErrFrameLost},
		"lost retained": {Outcome{nil, []DroppedFrame{gone, stale}}, "", ErrFrameLost},
	} {
		t.Run(name, func(t *testing.T) {
			err := truth.CheckClaim(tt.claim)
			var e *OutcomeError
			if tt.err == nil && err != nil || tt.err != nil && (!errors.As(err, &e) || !errors.Is(err, tt.err) || e.Pointer != tt.pointer) {
				t.Errorf("got %v, want %v at %q", err, tt.err, tt.pointer)
			}
		})
	}
}

func FuzzDecodeOutcome(f *testing.F) {
	f.Add([]byte(`{"retained":[{"provider_id":"w","frame_id":"a"}],"dropped":[{"frame":{"provider_id":"w","frame_id":"b"},"reason":{"kind":"stale","replacement_digest":"d"},"warrants_requery":true}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		o, err := strictjson.Parse(src, strictjson.Closed, DecodeOutcome)
		if err == nil && o.CheckClaim(o) != nil {
			t.Errorf("%s differs from itself", src)
		}
	})
}

func TestDecodeOutcomeRefusesOtherReasons(t *testing.T) {
	src := `{"retained":[],"dropped":[{"frame":{"provider_id":"w","frame_id":"b"},"reason":{"kind":"tired"},"warrants_requery":true}]}`
	_, err := strictjson.Parse([]byte(src), strictjson.Closed, DecodeOutcome)
	var e *strictjson.Error
	if !errors.As(err, &e) || e.Pointer != "/dropped/0/reason/kind" || e.Rule != strictjson.RuleValue {
		t.Errorf("got %v", err)
	}
}
