package kinds

import (
	"errors"

	"github.com/go-json-experiment/json"

	"ledgerd/ledger"
)

// Reference is an earlier entry of the same tenant that a recorded content names, and without which what it says can't be
// checked again. An evidence file carries it along.
type Reference struct {
	Relation string // what the entry is to the one that names it: lower case letters, digits and hyphens, at most 64
	Seq      int64

	// Once is a part of the entry that no second one of the kind may name in this relation, such as a usage line that is billed
	// once; "" where others may name it too.
	Once string
}

// References lists what a recorded content of the kind names, each once, in the order of the content; most kinds name nothing.
// An error says that the kind would never have recorded this content.
func (k *Kind) References(c ledger.Content) ([]Reference, error) {
	if k.refers == nil {
		return nil, nil
	}
	all, err := k.refers(c)
	if err != nil {
		return nil, err
	}
	list, seen := all[:0], map[Reference]bool{}
	for _, r := range all {
		if !seen[r] {
			seen[r] = true
			list = append(list, r)
		}
	}
	return list, nil
}

// Refers says whether entries of the kind name others at all.
func (k *Kind) Refers() bool { return k.refers != nil }

// referencesOfBundle is the trust policy that a verdict was reached under.
func referencesOfBundle(c ledger.Content) ([]Reference, error) {
	var r struct {
		PolicySeq *int64 `json:"policy_seq"`
	}
	if err := json.Unmarshal(c.Receiver, &r); err != nil || r.PolicySeq == nil {
		return nil, err
	}
	return []Reference{{Relation: TrustPolicyKind.Name, Seq: *r.PolicySeq}}, nil
}

// referencesOfContext are the entries that a context record was joined with.
func referencesOfContext(c ledger.Content) ([]Reference, error) {
	var r struct {
		Joined ContextJoined `json:"joined"`
	}
	if err := json.Unmarshal(c.Receiver, &r); err != nil {
		return nil, err
	}
	seqs, ok := r.Joined.Seqs()
	if !ok {
		return nil, errors.New("it names more entries than any verdict is reached with")
	}
	var list []Reference
	for _, seq := range seqs {
		list = append(list, Reference{Relation: "context-part", Seq: seq})
	}
	return list, nil
}

// referencesOfConflict is the entry that stood in the way.
func referencesOfConflict(c ledger.Content) ([]Reference, error) {
	var a ConflictArtifact
	if err := json.Unmarshal(c.Artifact, &a); err != nil {
		return nil, err
	}
	return []Reference{{Relation: "held-by", Seq: a.HeldBy}}, nil
}

// referencesOfIntent are the usage lines that it bills, each once, or the intent that it stands for.
func referencesOfIntent(c ledger.Content) ([]Reference, error) {
	i, err := parseIntent(recorded(c))
	if err != nil {
		return nil, err
	}
	var list []Reference
	if i.Replaces != 0 {
		list = append(list, Reference{Relation: "replaced", Seq: i.Replaces})
	}
	for _, claim := range i.Claims {
		list = append(list, Reference{Relation: "billed", Seq: claim.Seq, Once: claim.ProviderID})
	}
	return list, nil
}

// referencesOfOutcome is the intent of which something became known.
func referencesOfOutcome(c ledger.Content) ([]Reference, error) {
	o, err := parseOutcome(recorded(c))
	return []Reference{{Relation: BillingIntent.Name, Seq: o.Intent}}, err
}

// referencesOfCorrection are what is taken back, and the report that it goes back to.
func referencesOfCorrection(c ledger.Content) ([]Reference, error) {
	taken, err := decodeReceiver(c.Receiver)
	return []Reference{{Relation: "corrected", Seq: taken.Seq}, {Relation: UsageReport.Name, Seq: taken.ReportSeq}}, err
}
