package kinds

import (
	"ledgerd/frames"
	"ledgerd/ledger"
)

// accepted is an artifact that is recorded as it came, under its poster's own key.
func accepted(s Submission, findings []frames.Finding, rows []Rows) (*Accepted, error) {
	content, err := canonical(s, withFindings(findings))
	if err != nil {
		return nil, err
	}
	return &Accepted{Key: s.Key, Content: content, Findings: findings, Rows: rows}, nil
}

// projected reads a recorded artifact as it was read when it came, and makes its rows.
func projected[T any](read func(Submission) (T, error), rows func(T) []Rows) func(ledger.Content) (Projection, error) {
	return func(c ledger.Content) (Projection, error) {
		artifact, err := read(recorded(c))
		if err != nil {
			return Projection{}, err
		}
		return Projection{Rows: rows(artifact)}, nil
	}
}
