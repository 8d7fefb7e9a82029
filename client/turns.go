package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/assembly"
)

// Turn is a turn whole: what was planned, what went into each model context, and what was left out and why.
type Turn struct {
	TurnID      string          `json:"turn_id"`
	TreeSize    int64           `json:"tree_size"` // the answer is of the entries below
	Profile     *TurnPart       `json:"profile"`   // nil when it is not recorded, like the snapshot
	Snapshot    *TurnPart       `json:"snapshot"`
	Assemblies  []TurnAssembly  `json:"assemblies"`
	Compactions []TurnOperation `json:"compactions"`
	Recoveries  []TurnOperation `json:"recoveries"`
	Conflicts   []TurnConflict  `json:"conflicts"` // what was refused because of these entries: see Conflict
	Erased      []int64         `json:"erased"`    // entries whose content was erased
	Joins       TurnJoins       `json:"joins"`     // how much could be joined, so that no finding is not read as none
	Findings    []TurnFinding   `json:"findings"`
	Notes       []string        `json:"notes"` // what the answer does not show
}

// TurnPart is a recorded part, with the ledger's own time.
type TurnPart struct {
	Seq        int64     `json:"seq"`
	RecordedAt time.Time `json:"recorded_at"`
	ID         string    `json:"id"`
	Digest     string    `json:"digest"`
}

// TurnAssembly is one construction of model input, as recorded and as judged.
type TurnAssembly struct {
	Seq          int64                          `json:"seq"`
	RecordedAt   time.Time                      `json:"recorded_at"`
	ID           string                         `json:"context_assembly_id"`
	Kind         assembly.Word                  `json:"assembly_kind"`
	Predecessor  assembly.Word                  `json:"predecessor_assembly_id"`
	Plan         *TurnPart                      `json:"plan"`
	Verdict      ContextVerdict                 `json:"verdict"`
	Outcome      assembly.Word                  `json:"outcome"` // "" for a rebuild after compaction
	Code         assembly.Code                  `json:"code"`
	FailureCodes []assembly.Code                `json:"failure_codes"`
	Stage        assembly.Word                  `json:"stage"`
	Positions    []assembly.PositionOutcome     `json:"positions"`
	Included     []assembly.ContributionOutcome `json:"included"`
	Omitted      []assembly.ContributionOutcome `json:"omitted"` // their disposition says why
	Conflicts    []assembly.Conflict            `json:"conflicts"`
	Removed      []assembly.Removal             `json:"removed"`
	FinalResult  assembly.Word                  `json:"final_result"`
}

// TurnOperation is a compaction or a recovery of the turn.
type TurnOperation struct {
	Seq        int64          `json:"seq"`
	RecordedAt time.Time      `json:"recorded_at"`
	ID         string         `json:"id"`
	Verdict    ContextVerdict `json:"verdict"`
}

// TurnConflict is a submission that was refused, and kept, because another entry stands in its way.
type TurnConflict struct {
	Seq    int64  `json:"seq"`
	HeldBy int64  `json:"held_by"`
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Claim  string `json:"claim"` // the space that it conflicts in, "" for the key
}

// TurnJoins counts the contributions that went into a model's context, and those of them that could be joined with usage.
type TurnJoins struct {
	Reports       int `json:"usage_reports"`
	Contributions int `json:"contributions"`
	Joined        int `json:"joined"`
	ByRequest     int `json:"by_request"` // with a report of their own request
	Measured      int `json:"measured"`   // whose tokens could be compared
	Consented     int `json:"consented"`  // of which consent was asked
}

// TurnFinding is what a contribution and the ledger's other records show together: source-not-served, tokens-differ or
// sensitivity-unconsented.
type TurnFinding struct {
	Kind        string        `json:"kind"`
	Assembly    string        `json:"context_assembly_id"`
	Position    int64         `json:"position"`
	Ordinal     int64         `json:"ordinal"`
	ProviderID  string        `json:"provider_id"`
	FrameID     string        `json:"frame_id"`
	Sensitivity assembly.Word `json:"sensitivity"`
	Tokens      *int64        `json:"tokens,omitzero"`        // of tokens-differ: as the kernel measured it
	Served      *int64        `json:"tokens_served,omitzero"` // as the usage report has it
	Egress      string        `json:"egress,omitzero"`        // of sensitivity-unconsented: the verdict on the provider
	Seqs        []int64       `json:"seqs"`                   // the entries that show it
}

// Turn reads a turn, for an auditor's token or that of the host that recorded it.
func (c *Client) Turn(ctx context.Context, turnID string) (Turn, error) {
	var t Turn
	_, err := c.call(ctx, request{doing: "reading a turn", method: http.MethodGet, path: "/v1/turns/" + url.PathEscape(turnID)}, &t)
	return t, err
}

// Conflict is a second content under a known id, or a second claim of a name, as it was refused.
type Conflict struct {
	Kind     string         `json:"kind"`
	Key      string         `json:"key"`
	Claim    string         `json:"claim"`
	HeldBy   int64          `json:"held_by"` // the entry that stands in the way
	Ordinal  int            `json:"ordinal"`
	Artifact jsontext.Value `json:"artifact"`
	Context  jsontext.Value `json:"context"`
}

// Conflict reads what was refused, by the seq of its entry of kind conflict.
func (c *Client) Conflict(ctx context.Context, seq int64) (Conflict, error) {
	e, err := c.Entry(ctx, seq)
	if err != nil {
		return Conflict{}, err
	}
	var content struct {
		Artifact Conflict `json:"artifact"`
	}
	if e.Kind != "conflict" {
		return Conflict{}, errors.New("reading entry " + strconv.FormatInt(seq, 10) + ": it is no conflict")
	}
	err = json.Unmarshal(e.ContentBytes, &content)
	return content.Artifact, err
}
