package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// entryReader reads a tenant's entries. An entry that is not visible is kinds.ErrNotFound, as one that does not exist.
type entryReader interface {
	Entry(ctx context.Context, tenant string, see kinds.Visibility, seq int64) (ledger.Entry, error)
	Entries(ctx context.Context, tenant string, see kinds.Visibility, q kinds.EntryQuery) (list []ledger.Entry, next int64, err error)
}

// EntryBody is an entry with everything that is needed to recompute its leaf. Bytes and hashes are standard base64.
type EntryBody struct {
	Seq          int64            `json:"seq"`
	Kind         string           `json:"kind"`
	Key          string           `json:"key"`
	RecordedAt   time.Time        `json:"recorded_at" jsonschema:"the server's clock; never decreases along seq"`
	Actor        ledger.Actor     `json:"actor" jsonschema:"who a token claimed to be"`
	Content      jsontext.Value   `json:"content" jsonschema:"artifact, context and receiver; null once erased"`
	Findings     []frames.Finding `json:"findings"`
	LeafHash     string           `json:"leaf_hash" jsonschema:"SHA-256 of 0x00 and the envelope (RFC 9162)"`
	Envelope     string           `json:"envelope" jsonschema:"the leaf"`
	Meta         string           `json:"meta" jsonschema:"the exact bytes that the envelope's meta commitment covers"`
	MetaSalt     string           `json:"meta_salt"`
	ContentSalt  *string          `json:"content_salt"`
	ErasedBy     *int64           `json:"erased_by,omitzero" jsonschema:"the erasure that destroyed the content"`
	ContentBytes *string          `json:"content_bytes" jsonschema:"the exact bytes that the envelope's content commitment covers"`
}

// EntryListBody is one page of entries.
type EntryListBody struct {
	Entries    []EntryBody `json:"entries"`
	NextCursor *string     `json:"next_cursor" jsonschema:"null at the end; a page may be short before it"`
	TreeSize   int64       `json:"tree_size" jsonschema:"the size of the tree that all pages are of"`
}

const (
	defaultPage = 50
	maxPage     = 200

	// pageBytes ends a page by the contents in it. An answer is about three times that, since each content is in it twice.
	pageBytes = 8 << 20
)

func (a *API) entryRoutes() []*Route {
	return []*Route{
		{
			Method: "GET", Path: "/v1/entries/{seq}", Name: "getEntry", Summary: "Read one entry",
			Doc: "A host sees what was posted under its own token, billing the kinds it needs, an auditor all of its tenant. " +
				"What belongs to the log itself, the first entry of each incarnation, is for auditors and operators; an operator sees nothing else.",
			Roles: anyRole, Segments: seqParam("The entry's place in the log."), Replies: []Reply{{Status: 200, Doc: "The entry.", Body: EntryBody{}}},
			Problems: []string{"not-found", "erased"}, handle: a.getEntry,
		},
		{
			Method: "GET", Path: "/v1/entries", Name: "listEntries", Memory: 64, Summary: "List entries in order of seq",
			Doc: "Times are recorded times, the server's own. Pages are of one tree: the cursor pins its size and the filters. " +
				"A page ends early where the contents in it reach 8 MiB; next_cursor then leads on.",
			Roles: anyRole,
			Query: []Param{
				{Name: "kind", Form: "string", Doc: "Only entries of this kind."},
				{Name: "key", Form: "string", Doc: "Only entries with this key, such as a request_id."},
				{Name: "from", Form: "date-time", Doc: "Recorded at or after this instant."},
				{Name: "to", Form: "date-time", Doc: "Recorded before this instant."},
				{Name: "cursor", Form: "string", Doc: "next_cursor of the page before."},
				{Name: "limit", Form: "integer", Doc: "Entries per page at most, 1 to 200, 50 by default."},
			},
			Replies: []Reply{{Status: 200, Doc: "A page.", Body: EntryListBody{}}}, handle: a.listEntries,
		},
	}
}

func (a *API) getEntry(c *call) (reply, error) {
	seq, err := seqSegment(c)
	if err != nil {
		return reply{}, err
	}
	e, err := a.store.Entry(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), seq)
	if err != nil {
		return reply{}, err
	}
	if e.Erased() {
		return reply{}, kinds.ErasedEntry(e)
	}
	body, err := entryBody(e)
	return reply{status: 200, body: body}, err
}

func seqSegment(c *call) (int64, error) {
	seq, ok := decimal(chi.URLParam(c.http, "seq"))
	if !ok {
		return 0, badParam("seq", "a seq is a decimal integer, 0 or more, without a sign or leading zeros")
	}
	return seq, nil
}

func entryBody(e ledger.Entry) (EntryBody, error) {
	b := EntryBody{
		Seq: e.Seq, Kind: e.Meta.Kind, Key: e.Meta.Key, RecordedAt: e.RecordedAt, Actor: e.Meta.Actor, Findings: []frames.Finding{},
		LeafHash: base64.StdEncoding.EncodeToString(e.LeafHash[:]), Envelope: base64.StdEncoding.EncodeToString(e.Envelope),
		Meta: base64.StdEncoding.EncodeToString(e.MetaBytes), MetaSalt: base64.StdEncoding.EncodeToString(e.MetaSalt[:]),
	}
	if e.Erased() {
		b.ErasedBy = &e.ErasedBy
		return b, nil
	}
	findings, err := kinds.StoredFindings(e.Seq, e.Content)
	if err != nil {
		return b, err
	}
	if findings != nil {
		b.Findings = findings
	}
	salt, content := base64.StdEncoding.EncodeToString(e.ContentSalt[:]), base64.StdEncoding.EncodeToString(e.Content)
	b.Content, b.ContentSalt, b.ContentBytes = e.Content, &salt, &content
	return b, nil
}

func (a *API) listEntries(c *call) (reply, error) {
	q, err := a.entryQuery(c)
	if err != nil {
		return reply{}, err
	}
	list, next, err := a.store.Entries(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), q)
	if err != nil {
		return reply{}, err
	}
	page := EntryListBody{Entries: make([]EntryBody, 0, len(list)), TreeSize: q.Size}
	for _, e := range list {
		b, err := entryBody(e)
		if err != nil {
			return reply{}, err
		}
		page.Entries = append(page.Entries, b)
	}
	if next >= 0 {
		page.NextCursor, err = encodeCursor(cursor{After: next, Size: q.Size, Filter: filterOf(c)})
	}
	return reply{status: 200, body: page}, err
}

func (a *API) entryQuery(c *call) (q kinds.EntryQuery, err error) {
	if q.From, q.To, err = c.query.period(); err != nil {
		return q, err
	}
	limit, err := c.query.number("limit", defaultPage, 1, maxPage)
	if err != nil {
		return q, err
	}
	q.Limit, q.Bytes = int(limit), pageBytes
	if err := c.entryFilter(&q); err != nil {
		return q, err
	}
	q.After, q.Size, err = a.pageStart(c)
	return q, err
}

// entryFilter reads what entries are selected by beside their time.
func (c *call) entryFilter(q *kinds.EntryQuery) (err error) {
	if q.Key, err = c.query.identifier("key"); err != nil {
		return err
	}
	if name, ok := c.query["kind"]; ok {
		if kinds.Lookup(name) == nil {
			return badParam("kind", "there is no such kind")
		}
		q.Kind = name
	}
	return nil
}

// pageStart is where a page begins, after which seq and of which tree: what the cursor says, else the newest tree's start.
// A cursor is only ever of a tree that there was; what says more was made up.
func (a *API) pageStart(c *call) (after, size int64, err error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return 0, 0, err
	}
	text, ok := c.query["cursor"]
	if !ok {
		return -1, head.Next(), nil
	}
	cur, err := decodeCursor(text, filterOf(c))
	if err == nil && cur.Size > head.Next() {
		err = badCursor()
	}
	return cur.After, cur.Size, err
}

// cursor is where a listing goes on. It pins what the listing is of; it grants nothing, since every page is authorized anew.
type cursor struct {
	After  int64  `json:"a"`
	Size   int64  `json:"s"`
	Filter string `json:"f"`
}

// filterOf is a digest of what selects the entries of a listing: everything but the place and the size of a page.
func filterOf(c *call) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", c.route.Path, c.who.Tenant)
	for _, p := range c.route.Query {
		if value, ok := c.query[p.Name]; ok && p.Name != "cursor" && p.Name != "limit" {
			fmt.Fprintf(h, " %q=%q", p.Name, value)
		}
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

func encodeCursor(c cursor) (*string, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	s := base64.RawURLEncoding.EncodeToString(raw)
	return &s, nil
}

func decodeCursor(text, filter string) (cursor, error) {
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c, json.RejectUnknownMembers(true))
	}
	if err != nil || c.After < 0 || c.After >= c.Size {
		return cursor{}, badCursor()
	}
	if c.Filter != filter {
		return cursor{}, badParam("cursor", "it belongs to a listing with other filters; keep the filters while paging")
	}
	return c, nil
}

func badCursor() error { return badParam("cursor", "it is not a cursor of this listing") }
