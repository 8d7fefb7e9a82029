package kinds

import "time"

// Tenant is one customer of the service, whose records no other one sees.
type Tenant struct {
	ID        string
	CreatedAt time.Time
}

// Token is a bearer token as it is stored: never the token itself, only its SHA-256.
type Token struct {
	ID        string
	Tenant    string // "" for an operator
	Role      Role
	Name      string
	Hash      [32]byte
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
}
