package api

import (
	"context"
	"encoding/base64"
	"net/http"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// headReader reads the newest committed state of the log, and says whether the store answers at all.
type headReader interface {
	Head(ctx context.Context) (ledger.Head, error)
	Ping(ctx context.Context) error
}

// LogBody is what a verifier of the log starts from. Only the keys that it got some other way tell it whose log it is.
type LogBody struct {
	Origin       string   `json:"origin" jsonschema:"the log's name, first line of its checkpoints"`
	VerifierKeys []string `json:"verifier_keys" jsonschema:"C2SP signed-note verifier keys; several while the log changes its key"`
	Size         int64    `json:"size" jsonschema:"leaves in the tree"`
	RootHash     string   `json:"root_hash" jsonschema:"standard base64"`
	Checkpoint   string   `json:"checkpoint" jsonschema:"a signed note over origin, size and root_hash (C2SP tlog-checkpoint)"`
}

const textType = "text/plain; charset=utf-8"

// anyRole is for what tells nothing about a tenant.
var anyRole = kinds.Roles[:]

func (a *API) logRoutes() []*Route {
	return []*Route{
		{
			Method: "GET", Path: "/log/checkpoint", Name: "getCheckpoint", Summary: "The newest signed checkpoint",
			Doc:    "A C2SP tlog-checkpoint, byte for byte as it was signed. Last-Modified is the time of the newest entry.",
			Public: true, Replies: []Reply{{Status: 200, Doc: "A signed note.", Body: "", Type: textType}}, handle: a.getCheckpoint,
		},
		{
			Method: "GET", Path: "/v1/log", Name: "getLog", Summary: "The log: its name, keys, size and root",
			Doc:   "All of one moment: size and root_hash are what the checkpoint states.",
			Roles: anyRole, Replies: []Reply{{Status: 200, Doc: "The log.", Body: LogBody{}}}, handle: a.getLog,
		},
	}
}

func (a *API) getCheckpoint(c *call) (reply, error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	return reply{status: 200, raw: []byte(head.Checkpoint), header: map[string]string{
		"Content-Type": textType, "Cache-Control": "no-cache", "Last-Modified": head.RecordedAt.UTC().Format(http.TimeFormat),
	}}, nil
}

func (a *API) getLog(c *call) (reply, error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	return reply{status: 200, body: LogBody{
		Origin: head.Origin, VerifierKeys: a.verifierKeys, Size: head.Size,
		RootHash: base64.StdEncoding.EncodeToString(head.Root[:]), Checkpoint: head.Checkpoint,
	}}, nil
}
