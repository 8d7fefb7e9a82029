package metering

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"ledgerd/frames"
)

func TestEventsMergeRowsOfOneProvider(t *testing.T) {
	v, err := Verify(UsageReport{BudgetConsumed: 60, AsOf: "2031-03-04T05:06:07Z", Providers: []ProviderUsage{
		row("b", 2, 42, 30, 12), row("a", 0, 0), row("b", 1, 18, 18),
	}})
	if err != nil {
		t.Fatal(err)
	}
	events, err := Events(v)
	if err != nil || len(events) != 2 {
		t.Fatalf("got %v, %v", events, err)
	}
	b, a := events[0], events[1]
	if b.ProviderID != "b" || b.FramesServed != 3 || b.Tokens != 60 || len(b.Frames) != 3 || b.Frames[2].TokenCost != 18 {
		t.Errorf("b: %+v", b)
	}
	if a.ProviderID != "a" || a.Tokens != 0 || a.AsOf != "2031-03-04T05:06:07Z" {
		t.Errorf("a: %+v", a)
	}
	if n := b.Negated(); n.Tokens != -60 || n.FramesServed != -3 || n.ProviderID != "b" || len(n.Frames) != 3 {
		t.Errorf("negated: %+v", n)
	}
}

func TestUnverifiedIsRefused(t *testing.T) {
	var v Verified
	if _, err := Events(v); !errors.Is(err, ErrUnverified) {
		t.Errorf("Events: %v", err)
	}
	if _, err := v.Report(); !errors.Is(err, ErrUnverified) {
		t.Errorf("Report: %v", err)
	}
	if v, err := Verify(UsageReport{BudgetConsumed: 1}); err == nil || v.ok {
		t.Errorf("Verify: %v", err)
	}
}

func TestVerifiedCannotBeChangedFromOutside(t *testing.T) {
	r := UsageReport{BudgetConsumed: 42, Providers: []ProviderUsage{row("a", 2, 42, 30, 12)}}
	v, err := Verify(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Providers[0].ServedFrames[0].TokenCost = 1
	events, _ := Events(v)
	events[0].Frames[1].TokenCost = 1
	copied, _ := v.Report()
	copied.Providers[0].TokenCost = 1
	if again, _ := v.Report(); Check(again) != nil {
		t.Errorf("changed: %+v", again)
	}
}

func TestEventsAddUpToTheReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, err := Verify(anyReport(t))
		if err != nil {
			return
		}
		events, err := Events(v)
		if err != nil {
			t.Fatal(err)
		}
		var tokens, served int64
		seen := map[string]bool{}
		for _, e := range events {
			if seen[e.ProviderID] || int64(len(e.Frames)) != e.FramesServed {
				t.Fatalf("events: %+v", events)
			}
			seen[e.ProviderID] = true
			tokens += e.Tokens
			served += e.FramesServed
		}
		if uint64(tokens) != v.report.BudgetConsumed {
			t.Fatalf("%d tokens in events, %d in the report", tokens, v.report.BudgetConsumed)
		}
	})
}

func TestFindings(t *testing.T) {
	digest := frames.SomeDigest("sha256:c6ffeba44ad1939eccbc1dda428f3e7380bbdfc434909eba13908cb18f7f8e4f")
	frame := func(provider, id string, d frames.Digest, cost uint32) ServedFrame {
		return ServedFrame{frames.FrameID{ProviderID: provider, FrameID: id, ContentDigest: d}, cost}
	}
	r := UsageReport{BudgetRequested: 1, BudgetConsumed: 2, AsOf: "2031-03-04t05:06:07Z", Providers: []ProviderUsage{
		{ProviderID: "a", ServedFrames: []ServedFrame{frame("a", "f", digest, 1), frame("b", "f", digest, 1), frame("a", "", frames.Digest{}, 0)}},
		{ProviderID: "", TokenCost: 1 << 63, ServedFrames: []ServedFrame{frame("", "f", frames.SomeDigest("sha256:AB"), 1)}},
		{ProviderID: "a", TokenCost: 1 << 63, ServedFrames: []ServedFrame{frame("a", "f", digest, 2)}},
	}}
	want := []frames.Finding{
		{Code: OverBudget, Pointer: "/budget_consumed"},
		{Code: Overflow, Pointer: "/budget_consumed", Document: "context-reuse UR1"},
		{Code: AsOfNotF4, Pointer: "/as_of", Document: "SPEC F4"},
		{Code: FrameProviderMismatch, Pointer: "/providers/0/served_frames/1/frame/provider_id"},
		{Code: frames.EmptyID, Pointer: "/providers/0/served_frames/2/frame/frame_id"},
		{Code: frames.UnverifiableFrame, Pointer: "/providers/0/served_frames/2/frame", Document: "context-reuse D4"},
		{Code: frames.EmptyID, Pointer: "/providers/1/provider_id"},
		{Code: frames.EmptyID, Pointer: "/providers/1/served_frames/0/frame/provider_id"},
		{Code: frames.DigestNotSHA256, Pointer: "/providers/1/served_frames/0/frame/content_digest", Document: "SPEC D1"},
		{Code: DuplicateProviderRow, Pointer: "/providers/2/provider_id"},
		{Code: DuplicateServedFrame, Pointer: "/providers/2/served_frames/0/frame"},
		{Code: CostDrift, Pointer: "/providers/2/served_frames/0/token_cost"},
	}
	got := Findings(r)
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestFindingsAreBounded(t *testing.T) {
	p := ProviderUsage{ProviderID: "a"}
	for range 1000 {
		p.ServedFrames = append(p.ServedFrames, ServedFrame{Frame: frames.FrameID{ProviderID: "a", FrameID: "f"}})
	}
	got := Findings(UsageReport{AsOf: "2031-03-04T05:06:07Z", Providers: []ProviderUsage{p}})
	if len(got) != 2*frames.MaxPlaces {
		t.Fatalf("%d findings", len(got))
	}
	for _, f := range got {
		if f.Code == frames.UnverifiableFrame && f.Pointer == "/providers/0/served_frames/7/frame" && f.More != 992 {
			t.Errorf("%+v", f)
		}
	}
}
