package api

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
)

// erasureStore finds what an erasure would destroy. kinds.ErrTooMuch beyond kinds.MaxErasure entries.
type erasureStore interface {
	ErasureTargets(ctx context.Context, tenant string, seqs []int64) ([]kinds.ErasureTarget, error)
	FindErasureTargets(ctx context.Context, tenant string, f kinds.ErasureFilter) ([]kinds.ErasureTarget, error)
	ErasureLeavings(ctx context.Context, tenant string, seqs []int64) ([]kinds.ErasureTarget, error)
}

// ErasureBody asks for contents to be destroyed: those of the entries named, or of those that a filter finds.
type ErasureBody struct {
	Reason string             `json:"reason" jsonschema:"why, for the auditors to come; it must not hold what is to be erased"`
	Seqs   []int64            `json:"seqs,omitzero" jsonschema:"at most 10000, ascending"`
	Filter *ErasureFilterBody `json:"filter,omitzero" jsonschema:"instead of seqs; it is not recorded, since it names a person"`
}

// ErasureFilterBody selects entries of which all given conditions hold, and what only they lead to. The period is half-open, and
// of effective times; of artifacts that state none that could be read, as those of context records and conflicts, it is of when they
// were recorded.
type ErasureFilterBody struct {
	GrantorID  string     `json:"grantor_id,omitzero" jsonschema:"who gave or took back consent"`
	CustomerID string     `json:"customer_id,omitzero" jsonschema:"whose requests and disputes"`
	ProviderID string     `json:"provider_id,omitzero"`
	From       *time.Time `json:"from,omitzero" jsonschema:"of effective times; a dispute is found when its period overlaps"`
	To         *time.Time `json:"to,omitzero"`
}

// ErasurePreviewBody says what an erasure would destroy.
type ErasurePreviewBody struct {
	Seqs          []int64        `json:"seqs" jsonschema:"entries whose contents would be destroyed"`
	Kinds         map[string]int `json:"kinds" jsonschema:"how many of each kind"`
	AlreadyErased []int64        `json:"already_erased"`
	Left          []int64        `json:"left" jsonschema:"asked by seqs: entries that a filter would have found with these, at most 10000, and that stay unless they are named too; no filter of a person finds them afterwards"`
}

func (a *API) erasureRoutes() []*Route {
	return []*Route{{
		Method: "POST", Path: "/v1/erasures", Name: "erase", Summary: "Destroy contents for good",
		Doc: "The contents, their salts and the personal columns of projections are destroyed in the transaction that appends the erasure entry. " +
			"Leaves, proofs, times and sums stay, so the log still verifies. Ask with preview=true first: it can't be taken back. " +
			"A filter finds with each usage report its corrections, the receipts and disputes of its request, the context records of its turn but for the profile, " +
			"and with each entry the conflicts that it holds. Entries named by seqs are erased alone; the preview says what is left. " +
			"A customer does not find what no projection joins to one: context profiles, context records of turns without a usage report of theirs, disputes about " +
			"a billing event, frame verifications, and conflicts that name them in another's place. A period or seqs do.",
		Roles: admins, Header: keyHeader, Query: []Param{{Name: "preview", Form: "boolean", Doc: "Only say what would be destroyed."}, proofParam},
		Body: ErasureBody{}, Replies: append([]Reply{{Status: 202, Doc: "With preview=true: what would be destroyed; nothing was.", Body: ErasurePreviewBody{}}}, recordReplies...),
		Problems: []string{"invalid-json", "unknown-member", "missing-member", "nothing-to-erase", "not-erasable", "not-found", "question-too-wide", "conflict", "busy"},
		handle:   a.postErasure,
	}}
}

func (a *API) postErasure(c *call) (reply, error) {
	body, err := readBody(c, kinds.Erasure.MaxBytes)
	if err != nil {
		return reply{}, err
	}
	asked, err := parseErasure(body)
	if err != nil {
		return reply{}, err
	}
	done, err := a.erasedBefore(c, asked)
	if err != nil {
		return reply{}, err
	}
	if done != nil {
		return recordedReply(*done, recordedBody(*done)), nil
	}
	targets, err := a.erasureTargets(c, asked)
	if err != nil {
		return reply{}, err
	}
	preview, err := c.query.flag("preview")
	if err != nil {
		return reply{}, err
	}
	if preview {
		return a.previewErasure(c, asked, targets)
	}
	return a.recordErasure(c, asked.Reason, targets)
}

// erasedBefore finds the erasure that the caller's key already names. What a filter found then it no longer finds, so the
// request that was sent again can't be compared as a whole: its reason must be the same.
func (a *API) erasedBefore(c *call, asked ErasureBody) (*kinds.Recorded, error) {
	key, err := idempotencyKey(c)
	if err != nil || key == "" || asked.Filter == nil {
		return nil, err
	}
	q := kinds.EntryQuery{Kind: kinds.Erasure.Name, Key: key, After: -1, Size: math.MaxInt64, Limit: 1}
	list, _, err := a.store.Entries(c.ctx(), c.who.Tenant, kinds.Visibility{Kinds: []string{kinds.Erasure.Name}}, q)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	e := list[0]
	before, err := kinds.ReadErasure(e)
	if err != nil {
		return nil, err
	}
	if before.Reason != asked.Reason {
		return nil, &kinds.ConflictError{Seq: e.Seq}
	}
	return &kinds.Recorded{Seq: e.Seq, Kind: e.Meta.Kind, Key: e.Meta.Key, RecordedAt: e.RecordedAt, LeafHash: e.LeafHash, Replayed: true}, nil
}

// recordErasure appends the entry, which carries the erasure out.
func (a *API) recordErasure(c *call, reason string, targets []kinds.ErasureTarget) (reply, error) {
	artifact := kinds.ErasureArtifact{Reason: reason, Seqs: make([]int64, 0, len(targets))}
	for _, t := range targets {
		artifact.Seqs = append(artifact.Seqs, t.Seq)
	}
	raw, err := json.Marshal(artifact)
	if err != nil {
		return reply{}, err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return reply{}, err
	}
	prove, err := c.query.flag("proof")
	if err != nil {
		return reply{}, err
	}
	accepted, err := kinds.Erasure.Accept(kinds.Submission{Artifact: raw, Key: key}, kinds.Env{Now: a.now().UTC()})
	if err != nil {
		return reply{}, err
	}
	return a.appendAndProve(c, accepted, prove)
}

func parseErasure(body []byte) (ErasureBody, error) {
	var b ErasureBody
	d := strictjson.NewDecoder(body, strictjson.Closed)
	d.Object(
		strictjson.Req("reason", func() { b.Reason = d.String() }),
		strictjson.Opt("seqs", func() { b.Seqs = kinds.DecodeSeqs(d) }),
		strictjson.Opt("filter", func() { b.Filter = decodeErasureFilter(d) }),
	)
	if err := d.Finish(); err != nil {
		return b, err
	}
	if b.Reason == "" || kinds.CheckName(b.Reason) != nil {
		return b, &kinds.Rejection{Code: "identifier-malformed", Pointer: "/reason", Detail: "a reason has 1 to 512 bytes and no control characters"}
	}
	if (b.Seqs == nil) == (b.Filter == nil) {
		return b, &kinds.Rejection{Code: "nothing-to-erase", Detail: "name entries by seqs, or find them by a filter, and not both"}
	}
	return b, nil
}

func decodeErasureFilter(d *strictjson.Decoder) *ErasureFilterBody {
	f := &ErasureFilterBody{}
	instant := func() *time.Time {
		t, ok := frames.ParseRFC3339(d.String())
		if !ok && !d.Failed() {
			d.Fail(strictjson.RuleValue, "an RFC 3339 time is required")
		}
		return &t
	}
	d.Object(
		strictjson.Opt("grantor_id", func() { f.GrantorID = d.String() }),
		strictjson.Opt("customer_id", func() { f.CustomerID = d.String() }),
		strictjson.Opt("provider_id", func() { f.ProviderID = d.String() }),
		strictjson.Opt("from", func() { f.From = instant() }),
		strictjson.Opt("to", func() { f.To = instant() }),
	)
	if *f == (ErasureFilterBody{}) {
		d.Fail(strictjson.RuleValue, "a filter has at least one condition")
	}
	for _, s := range []string{f.GrantorID, f.CustomerID, f.ProviderID} {
		if kinds.CheckName(s) != nil {
			d.Fail(strictjson.RuleValue, "an identifier has at most 512 bytes and no control characters")
		}
	}
	return f
}

// erasureTargets resolves what is asked for, and refuses what may not be erased.
func (a *API) erasureTargets(c *call, b ErasureBody) (targets []kinds.ErasureTarget, err error) {
	if b.Filter != nil {
		f := kinds.ErasureFilter{GrantorID: b.Filter.GrantorID, CustomerID: b.Filter.CustomerID, ProviderID: b.Filter.ProviderID, From: b.Filter.From, To: b.Filter.To}
		targets, err = a.store.FindErasureTargets(c.ctx(), c.who.Tenant, f)
	} else {
		targets, err = a.store.ErasureTargets(c.ctx(), c.who.Tenant, b.Seqs)
	}
	if err != nil {
		return nil, err
	}
	if b.Filter != nil && len(targets) == 0 {
		return nil, &kinds.Rejection{Code: "nothing-to-erase", Detail: "no entry is found that is not erased already"}
	}
	return targets, kinds.CheckErasure(kinds.ErasureArtifact{Seqs: b.Seqs}, targets)
}

// previewErasure says what would be destroyed. What was named by seqs is not added to: whoever names entries means them, and has
// the list of what is left to add.
func (a *API) previewErasure(c *call, asked ErasureBody, targets []kinds.ErasureTarget) (reply, error) {
	body := erasurePreview(targets)
	if asked.Filter == nil {
		left, err := a.store.ErasureLeavings(c.ctx(), c.who.Tenant, asked.Seqs)
		if err != nil {
			return reply{}, err
		}
		for _, t := range left {
			body.Left = append(body.Left, t.Seq)
		}
	}
	return reply{status: http.StatusAccepted, body: body}, nil
}

func erasurePreview(targets []kinds.ErasureTarget) ErasurePreviewBody {
	p := ErasurePreviewBody{Seqs: []int64{}, Kinds: map[string]int{}, AlreadyErased: []int64{}, Left: []int64{}}
	for _, t := range targets {
		if t.Erased {
			p.AlreadyErased = append(p.AlreadyErased, t.Seq)
			continue
		}
		p.Seqs = append(p.Seqs, t.Seq)
		p.Kinds[t.Kind]++
	}
	return p
}
