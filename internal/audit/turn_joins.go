package audit

import (
	"cmp"
	"slices"

	"ledgerd/assembly"
)

// TurnFindingKind is what a turn's assemblies and the ledger's other records show together.
type TurnFindingKind string

// The kinds of findings. A contribution is joined where its source's namespace is a provider of one of the turn's usage reports: to
// the report of its own request, or where none has that id to all of them. Its stable_ref names a frame. Digests can't be compared: a payload digest is over the type, a zero byte
// and the payload, a frame's is its provider's own.
const (
	FindingNotServed       TurnFindingKind = "source-not-served"       // it names a provider of the turn, and that frame was not served to its request
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
	Joined        int `json:"joined" jsonschema:"of them, those whose source's namespace is a provider of the turn's reports; no other can be joined"`
	ByRequest     int `json:"by_request" jsonschema:"of the joined ones, those with a report of their own request"`
	Measured      int `json:"measured" jsonschema:"of the joined ones, those whose tokens could be compared: their frame was served"`
	Consented     int `json:"consented" jsonschema:"of the joined ones, those of which consent was asked: they are not public"`
}

// servedFrame is a frame of the turn, over all of its reports.
type servedFrame struct {
	seqs  []int64
	costs []int64
}

type turnJoiner struct {
	turn     usageView
	requests map[string]*usageView // the reports of one request alone
	egress   map[string]EgressLine // the worst line of each provider
	count    TurnJoins
	findings []TurnFinding
}

// usageView is what some reports say.
type usageView struct {
	frames    map[[2]string]*servedFrame // by provider and frame id
	providers map[string][]int64         // the reports that reached each
	all       []int64
}

func newUsageView() usageView {
	return usageView{frames: map[[2]string]*servedFrame{}, providers: map[string][]int64{}}
}

// joinTurn joins what went into the model's contexts with the turn's usage reports and the consent of their providers.
func joinTurn(e Evidence, rows []turnRow) (TurnJoins, []TurnFinding) {
	j := turnJoiner{turn: newUsageView(), requests: map[string]*usageView{}, egress: map[string]EgressLine{}, findings: []TurnFinding{}}
	reports := map[int64]bool{}
	for _, u := range e.Usage {
		reports[u.Seq] = true
		j.turn.add(u)
		if j.requests[u.RequestID] == nil {
			own := newUsageView()
			j.requests[u.RequestID] = &own
		}
		j.requests[u.RequestID].add(u)
	}
	for _, line := range Egress(e, EgressQuery{}).Lines {
		if have, ok := j.egress[line.ProviderID]; !ok || isCovered(have.Verdict) {
			j.egress[line.ProviderID] = line
		}
	}
	j.count.Reports = len(reports)
	for _, r := range rows {
		for _, f := range r.row.Facts() {
			if f.Included {
				j.contribution(r, f)
			}
		}
	}
	return j.count, j.findings
}

func (v *usageView) add(u UsageLine) {
	v.providers[u.ProviderID], v.all = append(v.providers[u.ProviderID], u.Seq), append(v.all, u.Seq)
	for _, f := range u.Frames {
		key := [2]string{f.ID.ProviderID, f.ID.FrameID}
		if v.frames[key] == nil {
			v.frames[key] = &servedFrame{}
		}
		v.frames[key].seqs = append(v.frames[key].seqs, u.Seq)
		v.frames[key].costs = append(v.frames[key].costs, f.Tokens)
	}
}

// without are the reports that show that a frame was not served: those that reached its provider, or else all.
func (v *usageView) without(provider string) []int64 {
	if reached := v.providers[provider]; reached != nil {
		return reached
	}
	return v.all
}

func (j *turnJoiner) contribution(r turnRow, f assembly.ContributionFact) {
	j.count.Contributions++
	provider, view := f.Source.Namespace, &j.turn
	own := j.requests[f.RequestID]
	if own != nil && f.RequestID != "" {
		view = own
	}
	if j.turn.providers[provider] == nil {
		return
	}
	j.count.Joined++
	if view == own {
		j.count.ByRequest++
	}
	found := TurnFinding{
		Assembly: r.row.Identity().AssemblyID, Position: f.Ref[0], Ordinal: f.Ref[1], ProviderID: provider, FrameID: f.Source.StableRef, Sensitivity: f.Sensitivity,
	}
	j.served(found, view, r.seq, f.Tokens)
	j.consented(found, r.seq)
}

// served compares a contribution with the frame that it names.
func (j *turnJoiner) served(found TurnFinding, view *usageView, seq, tokens int64) {
	served := view.frames[[2]string{found.ProviderID, found.FrameID}]
	if served == nil {
		j.add(found, FindingNotServed, seq, view.without(found.ProviderID))
		return
	}
	j.count.Measured++
	if !slices.Contains(served.costs, tokens) {
		found.Tokens, found.Served = &tokens, &served.costs[0]
		j.add(found, FindingTokensDiffer, seq, served.seqs)
	}
}

// consented asks for the consent to what is not public.
func (j *turnJoiner) consented(found TurnFinding, seq int64) {
	line, ok := j.egress[found.ProviderID]
	if !ok || found.Sensitivity == "public" {
		return
	}
	j.count.Consented++
	if !isCovered(line.Verdict) {
		found.Egress = line.Verdict
		j.add(found, FindingSensitiveEgress, seq, line.Behind())
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
