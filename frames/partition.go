package frames

// DropKind says why a held frame was dropped. The names are ours: the protocol has no serialised form of them.
type DropKind string

// The kinds of drops, the reference's DropReason.
const (
	DropUnknownProvider   DropKind = "unknown_provider"   // the host knows no such provider
	DropVerifyUnsupported DropKind = "verify_unsupported" // context-reuse V3: the provider did not advertise verify
	DropNoDigest          DropKind = "no_digest"          // context-reuse D4: the frame can't be asked about
	DropVerifyFailed      DropKind = "verify_failed"      // the provider erred or took too long
	DropStale             DropKind = "stale"
	DropGone              DropKind = "gone"
	DropUnknown           DropKind = "unknown" // said so, or said nothing
)

// IsKnown says whether k is one of the seven kinds.
func (k DropKind) IsKnown() bool {
	switch k {
	case DropUnknownProvider, DropVerifyUnsupported, DropNoDigest, DropVerifyFailed, DropStale, DropGone, DropUnknown:
		return true
	}
	return false
}

// WarrantsRequery says whether asking for the frame again makes sense: always, but for gone. (A Verdict says it of fewer:
// a drop has reasons that no verdict has.)
func (k DropKind) WarrantsRequery() bool { return k != DropGone }

// DropReason is why a frame was dropped, for DropStale with the provider's current digest if it gave one.
type DropReason struct {
	Kind              DropKind `json:"kind"`
	ReplacementDigest Digest   `json:"replacement_digest,omitzero"`
}

// DroppedFrame is a frame that must not be reused.
type DroppedFrame struct {
	Frame           FrameID    `json:"frame"`
	Reason          DropReason `json:"reason"`
	WarrantsRequery bool       `json:"warrants_requery"`
}

// Outcome is a partition of held frames. Both lists are written, empty or not.
type Outcome struct {
	Retained []FrameID      `json:"retained"`
	Dropped  []DroppedFrame `json:"dropped"`
}

// Answer is what came of asking one registered provider.
type Answer struct {
	// Verify says that the provider's handshake advertised the capability.
	Verify bool
	// Failed says that it erred or took too long. Its verdicts are then not looked at.
	Failed bool
	// Verdicts is what it answered.
	Verdicts []FrameVerdict
}

// Partition splits held frames by default-deny (context-reuse V2, V3, D4), as the reference's Host::verify_frames does:
// only an explicit valid for the frame's full identity retains it, the first verdict for an identity counts, and silence
// is unknown. A provider that is not in answers is unknown. Every held frame is in exactly one list, as often as it was
// held. Frames come grouped by provider in first-held order, per provider those without a digest first.
func Partition(held []FrameID, answers map[string]Answer) Outcome {
	var order []string
	groups := make(map[string][]FrameID)
	for _, id := range held {
		if groups[id.ProviderID] == nil {
			order = append(order, id.ProviderID)
		}
		groups[id.ProviderID] = append(groups[id.ProviderID], id)
	}
	out := Outcome{Retained: []FrameID{}, Dropped: []DroppedFrame{}}
	for _, provider := range order {
		answer, registered := answers[provider]
		switch {
		case !registered:
			out.dropAll(groups[provider], DropUnknownProvider)
		case !answer.Verify:
			out.dropAll(groups[provider], DropVerifyUnsupported)
		default:
			out.judge(groups[provider], answer)
		}
	}
	return out
}

// judge splits the frames of a provider that can be asked.
func (o *Outcome) judge(held []FrameID, answer Answer) {
	var asked []FrameID
	for _, id := range held {
		if id.IsVerifiable() {
			asked = append(asked, id)
		} else {
			o.drop(id, DropReason{Kind: DropNoDigest})
		}
	}
	if answer.Failed {
		o.dropAll(asked, DropVerifyFailed)
		return
	}
	first := make(map[FrameID]Verdict, len(answer.Verdicts))
	for _, v := range answer.Verdicts {
		if _, seen := first[v.Frame]; !seen {
			first[v.Frame] = v.Verdict
		}
	}
	for _, id := range asked {
		if v := first[id]; v.PermitsReuse() {
			o.Retained = append(o.Retained, id)
		} else {
			o.drop(id, reasonFor(v))
		}
	}
}

// reasonFor turns a verdict that does not permit reuse, or the zero verdict for silence, into a reason.
func reasonFor(v Verdict) DropReason {
	switch v.Status {
	case StatusStale:
		return DropReason{DropStale, v.ReplacementDigest}
	case StatusGone:
		return DropReason{Kind: DropGone}
	}
	return DropReason{Kind: DropUnknown}
}

func (o *Outcome) dropAll(ids []FrameID, kind DropKind) {
	for _, id := range ids {
		o.drop(id, DropReason{Kind: kind})
	}
}

func (o *Outcome) drop(id FrameID, reason DropReason) {
	o.Dropped = append(o.Dropped, DroppedFrame{id, reason, reason.Kind.WarrantsRequery()})
}
