package audit

import (
	"slices"
	"time"

	"ledgerd/receipts"
)

// Basis says why a scope stands in a line.
type Basis string

// The bases.
const (
	// BasisDeclared: the declaration in force names it, or says that nothing leaves.
	BasisDeclared Basis = "declared"
	// BasisBoolean: the declaration says that content leaves and names no scope; a boolean consent may cover it. Its scope
	// is empty.
	BasisBoolean Basis = "boolean-egress"
	// BasisGranted: nothing was declared, but somebody agreed to it.
	BasisGranted Basis = "granted"
	// BasisNone: nothing was declared, and nobody agreed to anything. Its scope is empty.
	BasisNone Basis = "none"
)

// EgressScope is one class of destination of a line. Who agreed is what a host's token claimed when it posted the consent.
type EgressScope struct {
	Scope       receipts.EgressScope `json:"scope" jsonschema:"empty where there is none to name, see basis"`
	Basis       Basis                `json:"basis"`
	Verdict     Verdict              `json:"verdict" jsonschema:"the worst that holds for a report"`
	Verdicts    map[Verdict]int      `json:"verdicts" jsonschema:"reports per verdict"`
	Grants      []EgressGrant        `json:"grants"`
	Records     []EgressRecord       `json:"records" jsonschema:"boolean consents"`
	Revocations []EgressRevocation   `json:"revocations"`
	Seqs        []int64              `json:"seqs" jsonschema:"the consents and revocations"`
}

// EgressGrant is who agreed, when, and to whom by name at that time.
type EgressGrant struct {
	Grantor         *receipts.Grantor `json:"grantor" jsonschema:"null once erased"`
	ProviderName    string            `json:"provider_name" jsonschema:"pinned when consent was given"`
	ProviderVersion string            `json:"provider_version"`
	GrantedAt       string            `json:"granted_at" jsonschema:"as written by the host"`
	ExpiresAt       *string           `json:"expires_at"`
	RecordedAt      time.Time         `json:"recorded_at"`
	Seq             int64             `json:"seq"`
}

// EgressRecord is a boolean consent. It names nobody.
type EgressRecord struct {
	GrantedAt  *string   `json:"granted_at" jsonschema:"as written by the host, null when it did not say"`
	RecordedAt time.Time `json:"recorded_at"`
	Seq        int64     `json:"seq"`
}

// EgressRevocation is who took consent back, and when.
type EgressRevocation struct {
	RevokedBy  *receipts.Grantor `json:"revoked_by" jsonschema:"null once erased"`
	RevokedAt  string            `json:"revoked_at"`
	Reason     *string           `json:"reason"`
	RecordedAt time.Time         `json:"recorded_at"`
	Seq        int64             `json:"seq"`
}

// newScopes begins the scopes of a line with who agreed to each.
func (j *joiner) newScopes(g group) []EgressScope {
	list := make([]EgressScope, 0, len(g.asked))
	for _, a := range g.asked {
		s := EgressScope{
			Scope: a.scope, Basis: a.basis, Verdict: LocalOnly, Verdicts: map[Verdict]int{},
			Grants: []EgressGrant{}, Records: []EgressRecord{}, Revocations: []EgressRevocation{}, Seqs: []int64{},
		}
		if a.basis != BasisNone {
			j.addConsent(&s, target{g.provider, a.scope})
		}
		list = append(list, s)
	}
	return list
}

// count takes in what one report got.
func (s *EgressScope) count(v Verdict) {
	s.Verdicts[v]++
	s.Verdict = worse(s.Verdict, v)
}

// addConsent adds who agreed and who took it back.
func (j *joiner) addConsent(s *EgressScope, t target) {
	for _, g := range j.book.grants[t] {
		s.Grants = append(s.Grants, egressGrant(g))
		s.Seqs = append(s.Seqs, g.Seq)
	}
	if s.Basis == BasisBoolean {
		for _, r := range j.book.records[t.provider] {
			s.Records = append(s.Records, EgressRecord{GrantedAt: r.Record.GrantedAt, RecordedAt: r.RecordedAt, Seq: r.Seq})
			s.Seqs = append(s.Seqs, r.Seq)
		}
	}
	for _, r := range j.book.revocations[t] {
		s.Revocations = append(s.Revocations, egressRevocation(r))
		s.Seqs = append(s.Seqs, r.Seq)
	}
	slices.Sort(s.Seqs)
}

func egressGrant(g Grant) EgressGrant {
	e := EgressGrant{
		ProviderName: g.Receipt.ProviderName, ProviderVersion: g.Receipt.ProviderVersion,
		GrantedAt: g.Receipt.GrantedAt, ExpiresAt: g.Receipt.ExpiresAt, RecordedAt: g.RecordedAt, Seq: g.Seq,
	}
	if !g.Erased {
		e.Grantor = &g.Receipt.Grantor
	}
	return e
}

func egressRevocation(r Revocation) EgressRevocation {
	e := EgressRevocation{RevokedAt: r.Event.RevokedAt, Reason: r.Event.Reason, RecordedAt: r.RecordedAt, Seq: r.Seq}
	if !r.Erased {
		e.RevokedBy = &r.Event.RevokedBy
	}
	return e
}
