package audit

import (
	"cmp"
	"slices"

	"ledgerd/assembly"
)

// TurnFindingKind is what a turn's assemblies and the ledger's other records show together.
type TurnFindingKind string

// The kinds of findings. A contribution is joined to the usage reports of its turn where its source's namespace is a provider
// of one of them and its stable_ref names a frame. Digests can't be compared: a payload digest is over the type, a zero byte
// and the payload, a frame's is its provider's own.
const (
	FindingNotServed       TurnFindingKind = "source-not-served"       // it names a provider of the turn, and no report served that frame
	FindingTokensDiffer    TurnFindingKind = "tokens-differ"           // the frame was served at a cost that the kernel did not measure
	FindingSensitiveEgress TurnFindingKind = "sensitivity-unconsented" // what is not public came from a provider to which egress was not consented
)

// TurnFinding is one finding about one contribution that went into a model's context.
type TurnFinding struct {
	Kind        TurnFindingKind `json:"kind"`
	Assembly    string          `json:"context_assembly_id"`
	Position    int64           `json:"position"`
	Ordinal     int64           `json:"ordinal"`
	ProviderID  string          `json:"provider_id"`
	FrameID     string          `json:"frame_id"`
	Sensitivity assembly.Word   `json:"sensitivity"`
	Tokens      *int64          `json:"tokens,omitzero" jsonschema:"of tokens-differ: as the kernel measured it"`
	Served      *int64          `json:"tokens_served,omitzero" jsonschema:"of tokens-differ: as the usage report has it"`
	Egress      Verdict         `json:"egress,omitzero" jsonschema:"of sensitivity-unconsented: the verdict on the provider"`
	Seqs        []int64         `json:"seqs" jsonschema:"the entries that show it"`
}

// TurnJoins says how much of the turn could be joined, so that no finding is not read as none.
type TurnJoins struct {
	Reports       int `json:"usage_reports" jsonschema:"of the turn"`
	Contributions int `json:"contributions" jsonschema:"that went into a model's context, over all assemblies"`
	Joined        int `json:"joined" jsonschema:"of them, those whose source's namespace is a provider of the turn's reports"`
}

// servedFrame is a frame of the turn, over all of its reports.
type servedFrame struct {
	seqs  []int64
	costs []int64
}

type turnJoiner struct {
	frames    map[[2]string]*servedFrame // by provider and frame id
	providers map[string][]int64         // the reports that reached each
	egress    map[string]EgressLine      // the worst line of each
	findings  []TurnFinding
}

// joinTurn joins what went into the model's contexts with the turn's usage reports and the consent of their providers.
func joinTurn(e Evidence, rows []turnRow) (TurnJoins, []TurnFinding) {
	j := turnJoiner{frames: map[[2]string]*servedFrame{}, providers: map[string][]int64{}, egress: map[string]EgressLine{}, findings: []TurnFinding{}}
	reports := map[int64]bool{}
	for _, u := range e.Usage {
		reports[u.Seq] = true
		j.usage(u)
	}
	for _, line := range Egress(e, EgressQuery{}).Lines {
		if have, ok := j.egress[line.ProviderID]; !ok || isCovered(have.Verdict) {
			j.egress[line.ProviderID] = line
		}
	}
	count := TurnJoins{Reports: len(reports)}
	for _, r := range rows {
		for _, f := range r.row.Facts() {
			if !f.Included {
				continue
			}
			count.Contributions++
			if j.providers[f.Source.Namespace] != nil {
				count.Joined++
				j.contribution(r, f)
			}
		}
	}
	return count, j.findings
}

func (j *turnJoiner) usage(u UsageLine) {
	j.providers[u.ProviderID] = append(j.providers[u.ProviderID], u.Seq)
	for _, f := range u.Frames {
		key := [2]string{f.ID.ProviderID, f.ID.FrameID}
		if j.frames[key] == nil {
			j.frames[key] = &servedFrame{}
		}
		j.frames[key].seqs = append(j.frames[key].seqs, u.Seq)
		j.frames[key].costs = append(j.frames[key].costs, f.Tokens)
	}
}

func (j *turnJoiner) contribution(r turnRow, f assembly.ContributionFact) {
	provider := f.Source.Namespace
	found := TurnFinding{
		Assembly: r.row.Identity().AssemblyID, Position: f.Ref[0], Ordinal: f.Ref[1], ProviderID: provider, FrameID: f.Source.StableRef, Sensitivity: f.Sensitivity,
	}
	served := j.frames[[2]string{provider, f.Source.StableRef}]
	switch {
	case served == nil:
		j.add(found, FindingNotServed, r.seq, j.providers[provider])
	case !slices.Contains(served.costs, f.Tokens):
		differs := found
		differs.Tokens, differs.Served = &f.Tokens, &served.costs[0]
		j.add(differs, FindingTokensDiffer, r.seq, served.seqs)
	}
	if line, ok := j.egress[provider]; ok && f.Sensitivity != "public" && !isCovered(line.Verdict) {
		found.Egress = line.Verdict
		j.add(found, FindingSensitiveEgress, r.seq, line.Behind())
	}
}

// isCovered: nothing left, or somebody agreed at that instant and on record.
func isCovered(v Verdict) bool { return v == LocalOnly || v == Consented || v == LegacyConsented }

func (j *turnJoiner) add(f TurnFinding, kind TurnFindingKind, seq int64, with []int64) {
	f.Kind = kind
	f.Seqs = append([]int64{seq}, with...)
	slices.SortFunc(f.Seqs, cmp.Compare)
	f.Seqs = slices.Compact(f.Seqs)
	j.findings = append(j.findings, f)
}
