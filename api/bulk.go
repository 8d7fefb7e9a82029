package api

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/kinds"
)

const ndjsonType = "application/x-ndjson"

// BulkLineBody is one line of a bulk request.
type BulkLineBody struct {
	Kind           string         `json:"kind" jsonschema:"one that the token's role may post"`
	Artifact       jsontext.Value `json:"artifact" jsonschema:"what is recorded, as a single post of the kind takes it"`
	Context        jsontext.Value `json:"context,omitzero" jsonschema:"an object: what the poster says about the artifact, for kinds that have such"`
	IdempotencyKey string         `json:"idempotency_key,omitzero" jsonschema:"1 to 256 bytes, for kinds without a key of their own"`
}

// Modes of a bulk request.
const (
	modeContinue = "continue"
	modeAtomic   = "atomic"
)

func (a *API) bulkRoutes() []*Route {
	return []*Route{{
		Method: "POST", Path: "/v1/entries", Name: "postEntries", Summary: "Record many entries", Streams: true,
		Doc: "The body is NDJSON, one entry a line, and the answer is NDJSON with one result a line in the same order, sent while the body still comes; " +
			"its status is 200 and each line has its own, the one of a single post. Lines are numbered from 1; blank ones are counted, and have no result. " +
			"Pointers begin with /kind, /artifact, /context or /idempotency_key. " +
			"A line of more than " + strconv.Itoa(maxLine) + " bytes is refused alone; a context assembly that is larger is posted to its own route. Lines are checked while earlier ones are being recorded, under the trust policy of that moment. " +
			"mode=continue: each line is a post of its own; a context record that names parts which are not recorded waits for the lines before it. " +
			"mode=atomic: all lines are recorded in one transaction or none; at most " + strconv.Itoa(atomicLines) + " lines and 64 MiB; " +
			"those of a MiB or more are recorded in turn, and are busy when that takes too long; when a line is refused the others are not-recorded, and lines recorded before are no hindrance; a context record's parts are recorded before the request. " +
			"When the body breaks off, stalls for half a minute or is not what its encoding says, the line that was cut has the error as its last result. " +
			"So has the first line that comes after its token expired or was revoked, or when the service stops. " +
			"Content-Encoding gzip and zstd are taken, up to a ratio of 100. What was not acknowledged may be sent again: it is recorded at most once.",
		Roles: bulkRoles(), Query: []Param{{Name: "mode", Form: "string", Doc: "continue (the default) or atomic."}},
		Body: BulkLineBody{}, BodyType: ndjsonType,
		Replies:  []Reply{{Status: 200, Doc: "One result a line.", Body: BulkResultBody{}, Type: ndjsonType}},
		Problems: []string{"busy", "body-stalled"}, handle: a.postEntries,
	}}
}

// bulkRoles are those that may post a kind at all.
func bulkRoles() []kinds.Role {
	var roles []kinds.Role
	for _, role := range kinds.Roles {
		for _, k := range kinds.All() {
			if k.MayPost(role) {
				roles = append(roles, role)
				break
			}
		}
	}
	return roles
}

// postEntries is the bulk form of record: the same three hops, for lines.
func (a *API) postEntries(c *call) (reply, error) {
	record, room, limit := a.recordEach, a.streams, int64(0)
	switch mode, given := c.query["mode"]; {
	case mode == modeAtomic:
		record, room, limit = a.recordAll, a.groups, atomicBytes
	case given && mode != modeContinue:
		return reply{}, badParam("mode", "a mode is continue or atomic")
	}
	if err := requireMedia(c.http, ndjsonType); err != nil {
		return reply{}, err
	}
	if !room.take(c.who.Tenant) {
		return reply{}, kinds.ErrBusy
	}
	defer room.release(c.who.Tenant)
	x, err := a.newExchange(c, limit)
	if err != nil {
		return reply{}, err
	}
	defer x.Close()
	return record(c, x)
}
