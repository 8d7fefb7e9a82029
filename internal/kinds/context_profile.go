package kinds

import (
	"ledgerd/assembly"
	"ledgerd/ledger"
)

// ContextProfile is one revision of an operator's context profile (C0, "Scope, identity, selection, and ordered binding").
// The key is its revision id, so that one id never has two contents (C0-R115).
var ContextProfile = Kind{
	Name:           "context-profile",
	Core:           "the revision has the form of context-strategy C0, and holds nothing forbidden",
	PostedBy:       []Role{Host},
	MaxBytes:       maxContext,
	KeepsConflicts: true,
	Tables:         []*Table{&contextProfiles},
	check:          checkContextProfile,
	project:        projectContextProfile,
}

var contextProfiles = Table{Name: "context_profiles", Columns: []Column{{Name: "profile_revision_id"}, {Name: "content_digest", Personal: true}}}

func checkContextProfile(s Submission, _ Env) (*Accepted, error) {
	p, err := readContextProfile(s)
	if err != nil {
		return nil, err
	}
	return plainContext(s, p)
}

func projectContextProfile(c ledger.Content) (Projection, error) {
	return readContextProfile(recorded(c))
}

func readContextProfile(s Submission) (Projection, error) {
	if err := noContext(s); err != nil {
		return Projection{}, err
	}
	p, err := assembly.ParseProfile(s.Artifact)
	if err != nil {
		return Projection{}, refusedRecord(s, err)
	}
	return Projection{Key: p.RevisionID(), Rows: []Rows{{Table: &contextProfiles, Values: [][]any{{p.RevisionID(), p.Digest()}}}}}, nil
}
