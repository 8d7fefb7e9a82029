package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
)

// NewToken asks for a bearer token.
type NewToken struct {
	Tenant    string    `json:"tenant,omitzero"`     // for an operator only; everybody else's token tells the tenant
	Role      string    `json:"role"`                // host, auditor, billing or admin
	Name      string    `json:"name"`                // what it is for, for people
	ExpiresAt time.Time `json:"expires_at,omitzero"` // at most 400 days ahead; zero for the server's default of 90 days
}

// Token describes a bearer token. Secret is the token itself, in the answer of CreateToken only.
type Token struct {
	ID        string     `json:"id"`
	Tenant    string     `json:"tenant"`
	Role      string     `json:"role"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	Secret    string     `json:"token,omitzero"`
}

// CreateToken makes a token of the caller's tenant, for an admin's token. Each call makes another one, so it is sent once
// only: after an *OutcomeUnknownError look through Tokens, and revoke the one that nobody holds.
func (c *Client) CreateToken(ctx context.Context, n NewToken) (Token, error) {
	const doing = "making a token"
	body, err := json.Marshal(n)
	if err != nil {
		return Token{}, errors.New(doing + ": a name is valid UTF-8")
	}
	var t Token
	_, err = c.call(ctx, request{doing: doing, method: http.MethodPost, path: "/v1/tokens", body: body, effect: once}, &t)
	return t, err
}

// Tokens lists the tenant's tokens, oldest first, expired and revoked ones included, for an admin's token. An error ends
// the list.
func (c *Client) Tokens(ctx context.Context) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		r := request{doing: "listing tokens", method: http.MethodGet, path: "/v1/tokens"}
		for {
			var page struct {
				Tokens     []Token `json:"tokens"`
				NextCursor *string `json:"next_cursor"`
			}
			if _, err := c.call(ctx, r, &page); err != nil {
				yield(Token{}, err)
				return
			}
			for _, t := range page.Tokens {
				if !yield(t, nil) {
					return
				}
			}
			if page.NextCursor == nil {
				return
			}
			r.query = url.Values{"cursor": {*page.NextCursor}}
		}
	}
}

// RevokeToken revokes a token of the caller's tenant at once and for good, for an admin's token. Revoking it again changes
// nothing.
func (c *Client) RevokeToken(ctx context.Context, id string) (Token, error) {
	var t Token
	_, err := c.call(ctx, request{
		doing: "revoking a token", method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id), effect: idempotent,
	}, &t)
	return t, err
}
