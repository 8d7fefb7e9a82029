package assembly

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

// The inputs of the stages from merge to recovery, as the conformance cases have them.

// mergeRow is a row of a merge as its stage gives it.
type mergeRow struct {
	Position    int64 `json:"position"`
	Ordinal     int64 `json:"ordinal"`
	Disposition Word  `json:"disposition"`
	DuplicateOf *Ref  `json:"duplicate_of"`
}

// mergeInput is one position of a merge.
type mergeInput struct {
	position   int64
	isRequired bool
	status     Word
	admitted   sources
	rows       []piece
}

func mergeStage(r reader) stage {
	var m mapping
	var in []mergeInput
	r.Object(
		into("equivalence_mapping", &m, r.mapping),
		into("positions", &in, func() []mergeInput { return list(r, r.mergeInput) }),
	)
	slices.SortStableFunc(in, func(a, b mergeInput) int { return cmp.Compare(a.position, b.position) })
	open, gaps := []*piece{}, []int64{}
	for _, p := range in {
		if isGap(p.status) {
			gaps = append(gaps, p.position)
		}
		if isMerged(p.status) {
			open = append(open, p.pieces(m)...)
		}
	}
	conflicts, isFatal := merge(open)
	order, kept := []mergeRow{}, []Ref{}
	for _, p := range open {
		order = append(order, mergeRow{p.ref[0], p.ref[1], p.disposition, p.duplicateOf})
		if p.disposition == included {
			kept = append(kept, p.ref)
		}
	}
	var code Code
	if isFatal {
		code = ContributionClash
	}
	return stage{members: []derivedMember{
		{name: "order", rule: R660, value: order},
		{name: "conflicts", rule: R680, value: conflicts},
		{name: "gaps", rule: R665, value: gaps},
		{name: "included", rule: R660, value: kept},
		{name: "degraded", rule: R685, value: len(conflicts) > 0 && !isFatal},
		{name: "code", rule: R685, value: code},
	}}
}

// pieces are the position's contributions by ordinal, with their identities.
func (p mergeInput) pieces(m mapping) []*piece {
	slices.SortStableFunc(p.rows, func(a, b piece) int { return cmp.Compare(a.ref[1], b.ref[1]) })
	own := make([]*piece, len(p.rows))
	for i := range p.rows {
		row := &p.rows[i]
		row.ref[0], row.isRequired = p.position, p.isRequired
		row.identity = m.identify(p.admitted, row.identity.pair, row.identity.ref)
		own[i] = row
	}
	return own
}

func (r reader) mergeInput() (p mergeInput) {
	r.Object(
		into("position", &p.position, r.count),
		into("requirement", &p.isRequired, func() bool { return r.requirement() == required }),
		into("status", &p.status, r.positionOutcomeWord),
		into("admitted_sources", &p.admitted, r.sources),
		into("contributions", &p.rows, func() []piece {
			return list(r, func() (row piece) {
				var s SourceRef
				r.Object(
					into("ordinal", &row.ref[1], r.count),
					into("source", &s, r.sourceRef),
					into("payload_digest", &row.digest, r.digest),
				)
				row.identity = identity{pair{s.SourceClass, s.Namespace}, s.StableRef}
				return row
			})
		}),
	)
	return p
}

// failureRow is a position of stage "failure", with what it comes to.
type failureRow struct {
	Position int64 `json:"position"`
	Outcome  Word  `json:"outcome"`
	Code     Code  `json:"code"`

	event, cached Word
	rule          *optionalRule
}

func failureStage(r reader) stage {
	var parent parentTurn
	var rows []failureRow
	r.Object(
		into("parent", &parent, r.parentTurn),
		into("positions", &rows, func() []failureRow { return list(r, r.failureRow) }),
	)
	slices.SortStableFunc(rows, func(a, b failureRow) int { return cmp.Compare(a.Position, b.Position) })
	positions := make([]settledPosition, len(rows))
	for i, row := range rows {
		positions[i] = settledPosition{row.event, settle(row.event, row.rule, row.cached)}
	}
	outcome, code, failures := verdictOn(parent, positions)
	for i, p := range positions {
		rows[i].Outcome, rows[i].Code = p.outcome, p.code
	}
	return stage{members: []derivedMember{
		{name: "outcome", rule: R730, value: outcome},
		{name: "code", rule: R710, value: code},
		{name: "failure_codes", rule: R715, value: failures},
		{name: "positions", rule: R705, value: rows},
	}}
}

func (r reader) failureRow() (row failureRow) {
	var isRequired bool
	r.Object(
		into("position", &row.Position, r.count),
		into("requirement", &isRequired, func() bool { return r.requirement() == required }),
		into("event", &row.event, r.event),
		into("optional_rule", &row.rule, r.optionalRule),
		into("cache_status", &row.cached, r.cacheStatus),
	)
	if !r.Failed() && isRequired != (row.rule == nil) {
		r.Fail(strictjson.RuleValue, "an optional rule is null exactly for a required position")
	}
	return row
}

func truncateStage(r reader) stage {
	var in finalInput
	pieces := []sizedPiece{}
	r.Object(append(r.finalMembers(&in),
		into("contributions", &pieces, func() []sizedPiece {
			return list(r, func() (p sizedPiece) {
				r.Object(
					into("position", &p.ref[0], r.count),
					into("ordinal", &p.ref[1], r.count),
					into("requirement", &p.isProtected, func() bool { return r.requirement() == required }),
					into("tokens", &p.size.Tokens, r.count),
					into("bytes", &p.size.Bytes, r.count),
				)
				return p
			})
		}),
	)...)
	slices.SortStableFunc(pieces, func(a, b sizedPiece) int {
		return cmp.Or(cmp.Compare(a.ref[0], b.ref[0]), cmp.Compare(a.ref[1], b.ref[1]))
	})
	f, known := truncate(&in, pieces)
	if !known {
		return stage{missing: []string{"/measured"}}
	}
	return stage{members: []derivedMember{
		{name: "size_before", rule: R750, value: f.SizeBefore},
		{name: "size_after", rule: R750, value: f.SizeAfter},
		{name: "removed", value: f.Removed, judge: func(recorded jsontext.Value) Rule { return in.judgeRemoved(pieces, f.Removed, recorded) }},
		{name: "result", rule: R775, value: f.Result},
	}}
}
