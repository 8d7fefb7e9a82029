package audit

// The limits of every report.
var (
	limitFreshness = Limit{"freshness", "A log that was cut back to an older state of its own is consistent. Only a checkpoint that was kept elsewhere shows it."}
	limitPoster    = Limit{"claimed-by-poster", "Who posted is who a token claimed to be, and what the artifact says is its poster's word. That it was recorded, when, and that nothing was changed since is what is proven."}
	limitKey       = Limit{"verifier-key", "The signature was checked with a key that whoever checked held. A key that comes from the same place as the checkpoint proves nothing about that place."}
	limitErased    = Limit{"erased-content", "The content was destroyed by an erasure. That it existed, and when, is still proven; what it said is not."}
)

// notChecked lists what the examination does not show.
func (x *Examination) notChecked() []Limit {
	list := []Limit{limitFreshness, limitKey, limitPoster}
	if x.erased {
		list = append(list, limitErased)
	}
	if x.kind != nil && x.kind.Unjudged != "" {
		list = append(list, Limit{"not-judged-again", x.kind.Unjudged})
	}
	return append(list, x.limits...)
}

// says is what passing a check means.
func (x *Examination) says(name CheckName) string {
	switch name {
	case CheckLeaf:
		return "the envelope is in its one spelling, of this log, and hashes to the leaf (RFC 9162)"
	case CheckMeta:
		return "tenant, kind, key and actor are those that the envelope commits to"
	case CheckContent:
		return "the content is the one that the envelope commits to, to the byte, in canonical form (RFC 8785)"
	case CheckInclusion:
		return "the leaf is at its place in the tree of the checkpoint (RFC 9162 §2.1.3)"
	case CheckCheckpoint:
		return "the checkpoint is signed by a key of the log that the checker holds"
	case CheckKind:
		if x.kind != nil {
			return x.kind.Core
		}
		return "the kind's own check holds"
	case CheckProjection:
		return "the rows that answers are made of follow from the content"
	case CheckVerdict:
		return "the verdict that was recorded is reached again, with the policy, the time or the entries that it names"
	case CheckCurrent:
		return "the verdict today, with the policy or the entries that there are now"
	case CheckConsent:
		return "at the instant of each egress a consent that was on record by then covered it, or by its declaration nothing left the machine"
	}
	return ""
}
