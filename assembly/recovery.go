package assembly

// The contract's "Deadlines, cancellation, failure, and recovery", recovery; section 3.9, C0-R900 … C0-R930.

// recoveryInput is what a recovery's outcome follows from.
type recoveryInput struct {
	turn, recovered snapshotName
	positions       []recoveredPosition
}

// snapshotName is a snapshot by id and digest.
type snapshotName struct{ id, digest string }

type recoveredPosition struct {
	position         int64
	requirement      Word
	binding          string
	recoveredBinding string // "" is null
	isRestorable     bool
	acceptedDigest   string // "" is null
	replayDigest     string // "" is null
}

// RecoveryOutcome is what the recovery of a durable turn comes to.
type RecoveryOutcome struct {
	Conformant bool            `json:"conformant"`
	Broken     []Rule          `json:"broken"`
	Code       Code            `json:"code"`
	Positions  []RecoveryRoute `json:"positions"`
}

// RecoveryRoute is how one position recovers: replay, repeat or unavailable.
type RecoveryRoute struct {
	Position int64 `json:"position"`
	Route    Word  `json:"route"`
}

// derive chooses a route per position. Current selection is never run again: there is the recorded snapshot and the
// recorded binding, or nothing.
func (in *recoveryInput) derive() RecoveryOutcome {
	out := RecoveryOutcome{Positions: []RecoveryRoute{}}
	var b broken
	b.unless(in.turn == in.recovered, R900)
	for _, p := range in.positions {
		b.unless(p.recoveredBinding == "" || p.recoveredBinding == p.binding, R910)
		b.unless(p.replayDigest == "" || p.replayDigest == p.acceptedDigest, R920)
		route := p.route()
		out.Positions = append(out.Positions, RecoveryRoute{p.position, route})
		if route == unavailable && p.requirement == required {
			out.Code = BindingUnavailable // C0-R930
		}
	}
	out.Broken = b.sorted()
	out.Conformant = len(b) == 0
	return out
}

// route: a retained accepted result is replayed, else the same idempotent request goes through the exact binding.
func (p recoveredPosition) route() Word {
	switch {
	case p.acceptedDigest != "" && p.replayDigest != "":
		return "replay"
	case p.isRestorable:
		return "repeat"
	}
	return unavailable
}

func (r reader) recoveryMembers(in *recoveryInput) []member {
	return []member{
		into("turn_snapshot_id", &in.turn.id, r.token),
		into("turn_snapshot_digest", &in.turn.digest, r.digest),
		into("recovered_snapshot_id", &in.recovered.id, r.token),
		into("recovered_snapshot_digest", &in.recovered.digest, r.digest),
		into("positions", &in.positions, func() []recoveredPosition { return list(r, r.recoveredPosition) }),
	}
}

func (r reader) recoveredPosition() (p recoveredPosition) {
	optToken := func() string { return orNull(r, r.token) }
	optDigest := func() string { return orNull(r, r.digest) }
	r.Object(
		into("position", &p.position, r.count),
		into("requirement", &p.requirement, r.requirement),
		into("binding_id", &p.binding, r.token),
		into("recovered_binding_id", &p.recoveredBinding, optToken),
		into("binding_restorable", &p.isRestorable, r.Bool),
		into("accepted_result_digest", &p.acceptedDigest, optDigest),
		into("replay_digest", &p.replayDigest, optDigest),
	)
	return p
}
