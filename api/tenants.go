package api

import (
	"context"
	"net/http"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
)

// tenantStore keeps tenants. CreateTenant makes the tenant and its first admin token or neither; kinds.ErrExists when the
// name is taken.
type tenantStore interface {
	CreateTenant(ctx context.Context, t kinds.Tenant, admin kinds.Token) error
	Tenants(ctx context.Context, after string, limit int) ([]kinds.Tenant, error)
}

// NewTenantBody names a tenant to make.
type NewTenantBody struct {
	ID string `json:"id" jsonschema:"1 to 512 bytes; it never changes"`
}

// TenantBody describes a tenant. Admin is its first token, shown once.
type TenantBody struct {
	ID        string     `json:"id"`
	CreatedAt time.Time  `json:"created_at"`
	Admin     *TokenBody `json:"admin,omitzero"`
}

// TenantListBody is one page of tenants, by id.
type TenantListBody struct {
	Tenants    []TenantBody `json:"tenants"`
	NextCursor *string      `json:"next_cursor"`
}

func (a *API) tenantRoutes() []*Route {
	return []*Route{
		{
			Method: "POST", Path: "/v1/tenants", Name: "createTenant", Summary: "Make a tenant and its first admin token",
			Roles: operator, Body: NewTenantBody{}, Replies: []Reply{{Status: 201, Doc: "The tenant, with a token that is shown this once.", Body: TenantBody{}}},
			Problems: []string{"invalid-json", "unknown-member", "identifier-malformed", "exists"}, handle: a.createTenant,
		},
		{
			Method: "GET", Path: "/v1/tenants", Name: "listTenants", Summary: "List tenants",
			Roles: operator, Query: []Param{{Name: "cursor", Form: "string", Doc: "next_cursor of the page before."}},
			Replies: []Reply{{Status: 200, Doc: "A page.", Body: TenantListBody{}}}, handle: a.listTenants,
		},
	}
}

func (a *API) createTenant(c *call) (reply, error) {
	body, err := readBody(c, wrapperBytes)
	if err != nil {
		return reply{}, err
	}
	var id string
	d := strictjson.NewDecoder(body, strictjson.Closed)
	d.Object(strictjson.Req("id", func() { id = d.String() }))
	if err := d.Finish(); err != nil {
		return reply{}, err
	}
	if id == "" || kinds.CheckName(id) != nil {
		return reply{}, &kinds.Rejection{Code: "identifier-malformed", Pointer: "/id", Detail: "a tenant's id is 1 to 512 bytes without control characters"}
	}
	admin, secret := NewToken(id, kinds.Admin, "first admin", a.now(), defaultLifetime)
	if err := a.store.CreateTenant(c.ctx(), kinds.Tenant{ID: id, CreatedAt: admin.CreatedAt}, admin); err != nil {
		return reply{}, err
	}
	token := tokenBody(admin)
	token.Token = secret
	return reply{status: http.StatusCreated, body: TenantBody{ID: id, CreatedAt: admin.CreatedAt, Admin: &token}}, nil
}

func (a *API) listTenants(c *call) (reply, error) {
	after := c.query["cursor"]
	if kinds.CheckName(after) != nil {
		return reply{}, badCursor()
	}
	list, err := a.store.Tenants(c.ctx(), after, maxPage)
	if err != nil {
		return reply{}, err
	}
	page := TenantListBody{Tenants: make([]TenantBody, 0, len(list))}
	for _, t := range list {
		page.Tenants = append(page.Tenants, TenantBody{ID: t.ID, CreatedAt: t.CreatedAt})
	}
	if len(list) == maxPage {
		page.NextCursor = &list[len(list)-1].ID
	}
	return reply{status: 200, body: page}, nil
}
