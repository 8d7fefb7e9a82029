package kinds

import (
	"github.com/go-json-experiment/json"

	"ledgerd/frames"
	"ledgerd/ledger"
	"ledgerd/receipts/air"
)

// registry is every kind, in the order in which documents list them.
var registry = [...]*Kind{
	&UsageReport, &ConsentReceipt, &ConsentRevocation, &ConsentRecord, &ProviderDeclaration, &FrameVerification, &ReceiptBundle,
	&TrustPolicyKind, &Erasure, &Incarnation,
	&Correction, &BillingConfigKind, &BillingIntent, &BillingOutcome,
	&ContextProfile, &ContextSnapshot, &ContextPlan, &ContextAssembly, &ContextCompaction, &ContextRecovery, &Conflict,
	&Dispute, &Reverification,
}

// All lists the kinds. The slice is the caller's.
func All() []*Kind { return append([]*Kind(nil), registry[:]...) }

// Lookup finds a kind by name; nil when there is none.
func Lookup(name string) *Kind {
	for _, k := range registry {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// VisibleTo says which entries of its tenant a token may read: the auditor all, a host what was posted under the same
// token, the others the kinds that the registry opens to their role.
func VisibleTo(role Role, tokenID string) Visibility {
	if role == Auditor {
		return Visibility{All: true}
	}
	v := Visibility{TokenID: tokenID}
	for _, k := range registry {
		if k.MayRead(role) {
			v.Kinds = append(v.Kinds, k.Name)
		}
	}
	return v
}

// StoredFindings reads the findings that were recorded with an entry, from its content. ErrStored when it has none.
func StoredFindings(seq int64, content []byte) ([]frames.Finding, error) {
	c, err := ledger.ParseContent(content)
	if err != nil {
		return nil, Unreadable(seq, err)
	}
	var r struct {
		Findings []frames.Finding `json:"findings"`
	}
	if err := json.Unmarshal(c.Receiver, &r); err != nil {
		return nil, Unreadable(seq, err)
	}
	return r.Findings, nil
}

// StoredDisclosures reads what the recorded verdict on a receipt bundle does not prove, from the entry's content.
func StoredDisclosures(seq int64, content []byte) ([]air.Disclosure, error) {
	c, err := ledger.ParseContent(content)
	if err != nil {
		return nil, Unreadable(seq, err)
	}
	var r struct {
		Verdict struct {
			Disclosures []air.Disclosure `json:"disclosures"`
		} `json:"verdict"`
	}
	if err := json.Unmarshal(c.Receiver, &r); err != nil {
		return nil, Unreadable(seq, err)
	}
	return r.Verdict.Disclosures, nil
}
