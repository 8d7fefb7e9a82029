package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// headReader reads the newest committed state of the log, and says whether the store answers at all.
type headReader interface {
	Head(ctx context.Context) (ledger.Head, error)
	// HeadOf reads that of one incarnation's log; kinds.ErrNotFound when there is none.
	HeadOf(ctx context.Context, incarnation int) (ledger.Head, error)
	// Heads reads those of all logs, the newest last.
	Heads(ctx context.Context) ([]ledger.Head, error)
	Ping(ctx context.Context) error
}

// LogBody is what a verifier of the log starts from. Only the keys that it got some other way tell it whose log it is.
type LogBody struct {
	Origin       string   `json:"origin" jsonschema:"the log's name, first line of its checkpoints"`
	VerifierKeys []string `json:"verifier_keys" jsonschema:"C2SP signed-note verifier keys; several while the log changes its key"`
	Size         int64    `json:"size" jsonschema:"leaves in the tree"`
	RootHash     string   `json:"root_hash" jsonschema:"standard base64"`
	Checkpoint   string   `json:"checkpoint" jsonschema:"a signed note over origin, size and root_hash (C2SP tlog-checkpoint)"`
	Incarnation  int      `json:"incarnation" jsonschema:"0, or the number of the log that was opened after a restore; its files are below /log/<n>/"`
	Base         int64    `json:"base" jsonschema:"seq of the log's first entry; 0 in incarnation 0"`

	Incarnations []IncarnationBody `json:"incarnations" jsonschema:"all logs of this ledger, the newest last"`
}

// IncarnationBody is one of the ledger's logs. An earlier one stays as it was when the next took its place.
type IncarnationBody struct {
	Incarnation int    `json:"incarnation" jsonschema:"its files are below /log/<n>/, those of 0 also below /log/"`
	Origin      string `json:"origin"`
	Base        int64  `json:"base" jsonschema:"seq of the log's first entry"`
	Size        int64  `json:"size"`
	RootHash    string `json:"root_hash" jsonschema:"standard base64"`
	Checkpoint  string `json:"checkpoint" jsonschema:"the newest, a signed note"`
}

const textType = "text/plain; charset=utf-8"

// anyRole is for what tells nothing about a tenant.
var anyRole = kinds.Roles[:]

func (a *API) logRoutes() []*Route {
	checkpoint := Route{
		Method: "GET", Path: "/log/checkpoint", Name: "getCheckpoint", Summary: "The newest signed checkpoint",
		Doc: "A C2SP tlog-checkpoint, byte for byte as it was signed. Last-Modified is the time of the newest entry. " +
			"Once a new log was opened after a restore, a Link header of relation successor-version leads to its checkpoint.",
		Public: true, Replies: []Reply{{Status: 200, Doc: "A signed note.", Body: "", Type: textType}}, Problems: []string{"not-found"}, handle: a.getCheckpoint,
	}
	return []*Route{
		&checkpoint, ofIncarnation(checkpoint),
		{
			Method: "GET", Path: "/v1/log", Name: "getLog", Summary: "The log: its name, keys, size and root",
			Doc:   "All of one moment: size and root_hash are what the checkpoint states.",
			Roles: anyRole, Replies: []Reply{{Status: 200, Doc: "The log.", Body: LogBody{}}}, handle: a.getLog,
		},
	}
}

// ofIncarnation is a route of the public log for the log of an incarnation that was opened after a restore. Each log has
// paths of its own, below /log/<n>/, because what is below /log/ may be in caches for good.
func ofIncarnation(r Route) *Route {
	r.Path = strings.Replace(r.Path, "/log/", "/log/{incarnation}/", 1)
	r.Name += "OfIncarnation"
	r.Summary += ", of a later incarnation"
	r.Segments = []Param{{Name: "incarnation", Required: true, Form: "integer", Doc: "The incarnation's number; /log/ alone is that of 0."}}
	return &r
}

// incarnationOf reads which log a path is of, 0 on a route that has no such segment. A number in another spelling names nothing, and
// neither does an empty segment, which the router takes for one.
func incarnationOf(c *call) (int, error) {
	if len(c.route.Segments) == 0 {
		return 0, nil
	}
	text := chi.URLParam(c.http, "incarnation")
	n, err := strconv.ParseInt(text, 10, 32) // the store's numbers have 32 bits
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, kinds.ErrNotFound
	}
	return int(n), nil
}

func (a *API) getCheckpoint(c *call) (reply, error) {
	n, err := incarnationOf(c)
	if err != nil {
		return reply{}, err
	}
	head, err := a.store.HeadOf(c.ctx(), n)
	if err != nil {
		return reply{}, err
	}
	answer := reply{status: 200, raw: []byte(head.Checkpoint), header: map[string]string{
		"Content-Type": textType, "Cache-Control": "no-cache", "Last-Modified": head.RecordedAt.UTC().Format(http.TimeFormat),
	}}
	newest, err := a.store.Head(c.ctx())
	if newest.Incarnation > n {
		answer.header["Link"] = "</log/" + strconv.Itoa(newest.Incarnation) + `/checkpoint>; rel="successor-version"`
	}
	return answer, err
}

func (a *API) getLog(c *call) (reply, error) {
	heads, err := a.store.Heads(c.ctx())
	if err != nil {
		return reply{}, err
	}
	all := make([]IncarnationBody, 0, len(heads))
	for _, h := range heads {
		all = append(all, IncarnationBody{
			Incarnation: h.Incarnation, Origin: h.Origin, Base: h.Base, Size: h.Size,
			RootHash: base64.StdEncoding.EncodeToString(h.Root[:]), Checkpoint: h.Checkpoint,
		})
	}
	newest := all[len(all)-1]
	return reply{status: 200, body: LogBody{
		Origin: newest.Origin, VerifierKeys: a.verifierKeys, Size: newest.Size, RootHash: newest.RootHash, Checkpoint: newest.Checkpoint,
		Incarnation: newest.Incarnation, Base: newest.Base, Incarnations: all,
	}}, nil
}
