package audit

import (
	"slices"
	"time"

	"ledgerd/assembly"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// What one question about a turn may read. Beyond it the answer is that the question covers too much, never a part of it.
const (
	MaxTurnEntries = 512
	MaxTurnBytes   = 64 << 20 // of their contents
)

// TurnEvidence is what a turn's answer is computed from.
type TurnEvidence struct {
	Entries   []ledger.Entry // of the turn that the asker may see, in order of seq
	Conflicts []TurnConflict // what was refused because of one of them
	Evidence                 // usage reports of the turn, and what is known of their providers
}

// TurnConflict is a submission that was refused, and kept, because another entry stands in its way.
type TurnConflict struct {
	Seq    int64  `json:"seq"`
	HeldBy int64  `json:"held_by" jsonschema:"the entry that stands in the way"`
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Claim  string `json:"claim" jsonschema:"the space that it conflicts in, empty for the key"`
}

// TurnAnswer shows a turn whole: what was planned, what went into each model context and what was left out and why.
type TurnAnswer struct {
	Profile     *TurnPart       `json:"profile" jsonschema:"the revision that the snapshot binds, null when it is not recorded"`
	Snapshot    *TurnPart       `json:"snapshot" jsonschema:"null when it is not recorded"`
	Assemblies  []TurnAssembly  `json:"assemblies"`
	Compactions []TurnOperation `json:"compactions"`
	Recoveries  []TurnOperation `json:"recoveries"`
	Conflicts   []TurnConflict  `json:"conflicts" jsonschema:"submissions that were refused because of these entries"`
	Erased      []int64         `json:"erased" jsonschema:"entries of the turn whose content was erased"`
	Joins       TurnJoins       `json:"joins"`
	Findings    []TurnFinding   `json:"findings" jsonschema:"what the turn's records and the ledger's others show together"`
}

// TurnPart is a recorded part.
type TurnPart struct {
	Seq        int64     `json:"seq"`
	RecordedAt time.Time `json:"recorded_at" jsonschema:"the ledger's own time: before any invocation"`
	ID         string    `json:"id"`
	Digest     string    `json:"digest" jsonschema:"recomputed"`
}

// TurnAssembly is one construction of model input, as recorded and as judged.
type TurnAssembly struct {
	Seq          int64                          `json:"seq"`
	RecordedAt   time.Time                      `json:"recorded_at"`
	ID           string                         `json:"context_assembly_id"`
	Kind         assembly.Word                  `json:"assembly_kind"`
	Predecessor  assembly.Word                  `json:"predecessor_assembly_id"`
	Plan         *TurnPart                      `json:"plan" jsonschema:"null when it is not recorded"`
	Verdict      kinds.ContextVerdict           `json:"verdict"`
	Outcome      assembly.Word                  `json:"outcome" jsonschema:"as recorded; null for a rebuild after compaction"`
	Code         assembly.Code                  `json:"code"`
	FailureCodes []assembly.Code                `json:"failure_codes"`
	Stage        assembly.Word                  `json:"stage"`
	Positions    []assembly.PositionOutcome     `json:"positions"`
	Included     []assembly.ContributionOutcome `json:"included"`
	Omitted      []assembly.ContributionOutcome `json:"omitted" jsonschema:"disposition says why"`
	Conflicts    []assembly.Conflict            `json:"conflicts"`
	Removed      []assembly.Removal             `json:"removed" jsonschema:"what final truncation took out, and in which step"`
	FinalResult  assembly.Word                  `json:"final_result"`
}

// TurnOperation is a compaction or a recovery of the turn.
type TurnOperation struct {
	Seq        int64                `json:"seq"`
	RecordedAt time.Time            `json:"recorded_at"`
	ID         string               `json:"id"`
	Verdict    kinds.ContextVerdict `json:"verdict"`
}

// Turn puts a turn together. It is pure; an error, kinds.ErrStored, is an entry that does not read as its kind.
func Turn(e TurnEvidence) (TurnAnswer, error) {
	b := turnBuilder{
		plans:  map[string]*TurnPart{},
		answer: TurnAnswer{Assemblies: []TurnAssembly{}, Compactions: []TurnOperation{}, Recoveries: []TurnOperation{}, Conflicts: e.Conflicts, Erased: []int64{}},
	}
	if b.answer.Conflicts == nil {
		b.answer.Conflicts = []TurnConflict{}
	}
	for _, entry := range e.Entries {
		if err := b.add(entry); err != nil {
			return b.answer, kinds.Unreadable(entry.Seq, err)
		}
	}
	for i, id := range b.planOf {
		b.answer.Assemblies[i].Plan = b.plans[id]
	}
	b.answer.Joins, b.answer.Findings = joinTurn(e.Evidence, b.rows)
	return b.answer, nil
}

type turnBuilder struct {
	answer TurnAnswer
	plans  map[string]*TurnPart
	planOf []string // of each assembly
	rows   []turnRow
}

// turnRow is an assembly with its entry.
type turnRow struct {
	seq int64
	row *assembly.Row
}

func (b *turnBuilder) add(e ledger.Entry) error {
	if e.Erased() {
		b.answer.Erased = append(b.answer.Erased, e.Seq)
		return nil
	}
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return err
	}
	part := &TurnPart{Seq: e.Seq, RecordedAt: e.RecordedAt, ID: e.Meta.Key}
	switch e.Meta.Kind {
	case kinds.ContextProfile.Name:
		b.answer.Profile = part
		return digestOf(part, c.Artifact, assembly.ParseProfile)
	case kinds.ContextSnapshot.Name:
		b.answer.Snapshot = part
		return digestOf(part, c.Artifact, assembly.ParseSnapshot)
	case kinds.ContextPlan.Name:
		b.plans[part.ID] = part
		return digestOf(part, c.Artifact, assembly.ParsePlan)
	}
	return b.addJudged(e)
}

func digestOf[T interface{ Digest() string }](p *TurnPart, src []byte, parse func([]byte) (T, error)) error {
	v, err := parse(src)
	if err == nil {
		p.Digest = v.Digest()
	}
	return err
}

func (b *turnBuilder) addJudged(e ledger.Entry) error {
	r, err := kinds.ReadContext(e)
	if err != nil {
		return err
	}
	operation := TurnOperation{Seq: r.Seq, RecordedAt: r.RecordedAt, ID: e.Meta.Key, Verdict: r.Receiver.Verdict}
	switch r.Kind.Name {
	case kinds.ContextCompaction.Name:
		b.answer.Compactions = append(b.answer.Compactions, operation)
		return nil
	case kinds.ContextRecovery.Name:
		b.answer.Recoveries = append(b.answer.Recoveries, operation)
		return nil
	}
	row := r.Row()
	plan, _ := row.Plan()
	b.planOf = append(b.planOf, plan)
	b.rows = append(b.rows, turnRow{r.Seq, row})
	b.answer.Assemblies = append(b.answer.Assemblies, turnAssembly(operation, row))
	return nil
}

func turnAssembly(o TurnOperation, row *assembly.Row) TurnAssembly {
	id, out := row.Identity(), row.Recorded()
	a := TurnAssembly{
		Seq: o.Seq, RecordedAt: o.RecordedAt, ID: o.ID, Kind: id.Kind, Predecessor: id.Predecessor, Verdict: o.Verdict, Outcome: out.Outcome, Code: out.Code,
		FailureCodes: out.FailureCodes, Stage: out.Stage, Positions: out.Positions, Conflicts: out.Conflicts, Removed: []assembly.Removal{},
		Included: []assembly.ContributionOutcome{}, Omitted: []assembly.ContributionOutcome{},
	}
	included := map[assembly.Ref]bool{}
	for _, f := range row.Facts() {
		included[f.Ref] = f.Included
	}
	for _, c := range out.Contributions {
		if included[assembly.Ref{c.Position, c.Ordinal}] {
			a.Included = append(a.Included, c)
		} else {
			a.Omitted = append(a.Omitted, c)
		}
	}
	if out.Final != nil {
		a.Removed, a.FinalResult = slices.Clone(out.Final.Removed), out.Final.Result
	}
	return a
}
