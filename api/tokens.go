package api

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
)

// tokenStore keeps bearer tokens. Another tenant's token is kinds.ErrNotFound.
type tokenStore interface {
	CreateToken(ctx context.Context, t kinds.Token) error
	Tokens(ctx context.Context, tenant string, afterTime time.Time, afterID string, limit int) ([]kinds.Token, error)
	RevokeToken(ctx context.Context, tenant, id string, now time.Time) (kinds.Token, error)
}

// Lifetimes of a token.
const (
	defaultLifetime = 90 * 24 * time.Hour
	maxLifetime     = 400 * 24 * time.Hour
)

// NewTokenBody asks for a token.
type NewTokenBody struct {
	Tenant    string     `json:"tenant,omitzero" jsonschema:"for an operator only, who makes tokens of role admin for a tenant that has none any more"`
	Role      string     `json:"role" jsonschema:"host, auditor, billing or admin"`
	Name      string     `json:"name" jsonschema:"what it is for, for people"`
	ExpiresAt *time.Time `json:"expires_at,omitzero" jsonschema:"RFC 3339, at most 400 days ahead; 90 days when absent"`
}

// TokenBody describes a token; the token itself is shown once, when it is made.
type TokenBody struct {
	ID        string     `json:"id"`
	Tenant    string     `json:"tenant"`
	Role      kinds.Role `json:"role"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	Token     string     `json:"token,omitzero" jsonschema:"the secret; it is not stored and can't be shown again"`
}

// TokenListBody is one page of a tenant's tokens, oldest first, expired and revoked ones included.
type TokenListBody struct {
	Tokens     []TokenBody `json:"tokens"`
	NextCursor *string     `json:"next_cursor"`
}

func (a *API) tokenRoutes() []*Route {
	return []*Route{
		{
			Method: "POST", Path: "/v1/tokens", Name: "createToken", Summary: "Make a bearer token of this tenant",
			Doc:   "An admin makes tokens of its own tenant. An operator makes an admin's token for a tenant that it names.",
			Roles: []kinds.Role{kinds.Admin, kinds.Operator}, Body: NewTokenBody{}, Replies: []Reply{{Status: 201, Doc: "The token; it is shown this once.", Body: TokenBody{}}},
			Problems: []string{"invalid-json", "unknown-member", "invalid-value", "identifier-malformed", "body-too-large"}, handle: a.createToken,
		},
		{
			Method: "GET", Path: "/v1/tokens", Name: "listTokens", Summary: "List the tenant's tokens",
			Roles: admins, Query: []Param{{Name: "cursor", Form: "string", Doc: "next_cursor of the page before."}},
			Replies: []Reply{{Status: 200, Doc: "A page.", Body: TokenListBody{}}}, handle: a.listTokens,
		},
		{
			Method: "DELETE", Path: "/v1/tokens/{id}", Name: "revokeToken", Summary: "Revoke a token at once and for good",
			Doc:   "Revoking it again changes nothing. Other processes on the same database follow within a second.",
			Roles: admins, Segments: []Param{{Name: "id", Required: true, Form: "string", Doc: "The token's id."}},
			Replies: []Reply{{Status: 200, Doc: "The token, revoked.", Body: TokenBody{}}}, Problems: []string{"not-found"}, handle: a.revokeToken,
		},
	}
}

func (a *API) createToken(c *call) (reply, error) {
	body, err := readBody(c, wrapperBytes)
	if err != nil {
		return reply{}, err
	}
	now := a.now().UTC().Truncate(time.Microsecond)
	t, err := parseNewToken(body, now, c.who.Role)
	if err != nil {
		return reply{}, err
	}
	if c.who.Role == kinds.Admin {
		t.Tenant = c.who.Tenant
	}
	secret := sealToken(&t)
	if err := a.store.CreateToken(c.ctx(), t); err != nil {
		return reply{}, err
	}
	answer := tokenBody(t)
	answer.Token = secret
	return reply{status: http.StatusCreated, body: answer}, nil
}

func parseNewToken(body []byte, now time.Time, asker kinds.Role) (kinds.Token, error) {
	t := kinds.Token{CreatedAt: now, ExpiresAt: now.Add(defaultLifetime)}
	d := strictjson.NewDecoder(body, strictjson.Closed)
	members := []strictjson.Member{
		strictjson.Req("role", func() {
			t.Role = kinds.Role(d.String())
			if !d.Failed() && !tenantRole(t.Role) {
				d.Fail(strictjson.RuleValue, "a role is host, auditor, billing or admin")
			}
			if asker == kinds.Operator && t.Role != kinds.Admin {
				d.Fail(strictjson.RuleValue, "an operator makes tokens of role admin only")
			}
		}),
		strictjson.Req("name", func() { t.Name = d.String() }),
		strictjson.Opt("expires_at", func() {
			at, ok := frames.ParseRFC3339(d.String())
			if !d.Failed() && (!ok || !at.After(now) || at.After(now.Add(maxLifetime))) {
				d.Fail(strictjson.RuleValue, "an RFC 3339 time in the next 400 days is required")
			}
			t.ExpiresAt = at.Truncate(time.Microsecond)
		}),
	}
	if asker == kinds.Operator { // to anybody else this member is unknown: the tenant comes from the token
		members = append(members, strictjson.Req("tenant", func() { t.Tenant = d.String() }))
	}
	d.Object(members...)
	if err := d.Finish(); err != nil {
		return t, err
	}
	if t.Name == "" || kinds.CheckName(t.Name) != nil {
		return t, &kinds.Rejection{Code: "identifier-malformed", Pointer: "/name", Detail: "a name is 1 to 512 bytes without control characters"}
	}
	if kinds.CheckName(t.Tenant) != nil {
		return t, kinds.ErrNotFound
	}
	return t, nil
}

func tenantRole(r kinds.Role) bool {
	for _, known := range everyone {
		if r == known {
			return true
		}
	}
	return false
}

// sealToken makes a token's id, secret and hash, and returns the secret: 256 random bits behind a prefix that secret
// scanners can look for.
func sealToken(t *kinds.Token) (secret string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, see its documentation
	secret = "ldg_" + base64.RawURLEncoding.EncodeToString(b[:])
	t.ID, t.Hash = "tok_"+strings.ToLower(rand.Text()), HashToken(secret)
	return secret
}

// NewToken makes a token outside the API, for the processes that bootstrap a ledger.
func NewToken(tenant string, role kinds.Role, name string, now time.Time, lifetime time.Duration) (kinds.Token, string) {
	now = now.UTC().Truncate(time.Microsecond)
	t := kinds.Token{Tenant: tenant, Role: role, Name: name, CreatedAt: now, ExpiresAt: now.Add(lifetime)}
	secret := sealToken(&t)
	return t, secret
}

func tokenBody(t kinds.Token) TokenBody {
	return TokenBody{ID: t.ID, Tenant: t.Tenant, Role: t.Role, Name: t.Name, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt}
}

func (a *API) listTokens(c *call) (reply, error) {
	afterTime, afterID, err := tokenCursor(c.query["cursor"], a.now())
	if err != nil {
		return reply{}, err
	}
	list, err := a.store.Tokens(c.ctx(), c.who.Tenant, afterTime, afterID, maxPage)
	if err != nil {
		return reply{}, err
	}
	page := TokenListBody{Tokens: make([]TokenBody, 0, len(list))}
	for _, t := range list {
		page.Tokens = append(page.Tokens, tokenBody(t))
	}
	if len(list) == maxPage {
		last := list[len(list)-1]
		next := strconv.FormatInt(last.CreatedAt.UnixMicro(), 10) + "." + last.ID
		page.NextCursor = &next
	}
	return reply{status: 200, body: page}, nil
}

// tokenCursor is the place after a token: when it was made, in microseconds, and its id. No token is from the future, but for
// what the clocks of several processes may differ.
func tokenCursor(text string, now time.Time) (time.Time, string, error) {
	if text == "" {
		return time.Unix(0, 0), "", nil
	}
	micros, id, ok := strings.Cut(text, ".")
	n, canonical := decimal(micros)
	if !ok || !canonical || n > now.Add(time.Hour).UnixMicro() || kinds.CheckName(id) != nil {
		return time.Time{}, "", badCursor()
	}
	return time.UnixMicro(n), id, nil
}

func (a *API) revokeToken(c *call) (reply, error) {
	id := chi.URLParam(c.http, "id")
	if kinds.CheckName(id) != nil {
		return reply{}, kinds.ErrNotFound
	}
	t, err := a.store.RevokeToken(c.ctx(), c.who.Tenant, id, a.now())
	a.tokens.empty() // also after an error, which may leave open whether the token was revoked
	if err != nil {
		return reply{}, err
	}
	return reply{status: 200, body: tokenBody(t)}, nil
}
