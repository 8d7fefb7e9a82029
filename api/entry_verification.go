package api

import (
	"context"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// entryVerifier checks one entry again. kinds.ErrNotFound for one that is not visible.
type entryVerifier interface {
	VerifyEntry(ctx context.Context, tenant string, see kinds.Visibility, seq int64, at time.Time, verifiers ...note.Verifier) (audit.Report, error)
}

func (a *API) entryVerifyRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/v1/entries/{seq}/verification", Name: "verifyEntry", Summary: "Verify an entry of any kind again",
		Doc: "Check by check: leaf, commitments, inclusion in the tree of the checkpoint in the answer and its signature, the kind's own check over the recorded content, " +
			"the rows that answers are made of, a recorded verdict reached again, the verdict by today's policy or entries, and whether consent that was on record covered each egress at its instant. " +
			"Each is passed, failed or not-checkable, with the reason; not_checked says what the report does not show. A failed check is an answer, 200. An erased entry is verified as far as it goes.",
		Roles: anyRole, Segments: seqParam("The entry's place in the log."),
		Query:   []Param{{Name: "at", Form: "date-time", Doc: "The instant at which a receipt bundle is judged under the current policy; now when absent."}},
		Replies: []Reply{{Status: 200, Doc: "The report.", Body: audit.Report{}}}, Problems: []string{"not-found", "log-read-only"}, handle: a.verifyEntry,
	}}
}

func (a *API) verifyEntry(c *call) (reply, error) {
	seq, err := seqSegment(c)
	if err != nil {
		return reply{}, err
	}
	at, err := c.query.instant("at")
	if err != nil {
		return reply{}, err
	}
	if at == nil {
		now := a.now().UTC()
		at = &now
	}
	report, err := a.store.VerifyEntry(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), seq, *at, a.verifiers...)
	return reply{status: 200, body: report}, err
}
