package api

import "ledgerd/metering"

// ShippingBody is how far ClickHouse is behind Postgres.
type ShippingBody struct {
	Configured bool `json:"configured" jsonschema:"false: this server has no ClickHouse"`
	metering.Shipping
	LagSeconds float64 `json:"lag_seconds" jsonschema:"age of the oldest entry that is not shipped"`
}

func (a *API) shippingRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/v1/shipping", Name: "shipping", Summary: "How far ClickHouse is behind",
		Doc: "Lag, the batch under way with its last error, lines in quarantine and days that drifted. A service that is ready records and answers from Postgres " +
			"however far ClickHouse is behind, so /readyz does not depend on it; on the private listener it shows the same.",
		Roles: operator, Replies: []Reply{{Status: 200, Doc: "The state.", Body: ShippingBody{}}}, handle: a.getShipping,
	}}
}

func (a *API) getShipping(c *call) (reply, error) {
	body, err := a.shipping(c)
	return reply{status: 200, body: body}, err
}

func (a *API) shipping(c *call) (ShippingBody, error) {
	v, err := a.store.Shipping(c.ctx())
	return ShippingBody{Configured: a.usage != nil, Shipping: v, LagSeconds: v.Lag.Seconds()}, err
}
