-- +goose Up
CREATE TABLE work.tenants (
    id         text PRIMARY KEY CHECK (id <> ''),
    key_secret bytea NOT NULL CHECK (octet_length(key_secret) = 32), -- HMAC key for entries without a natural key
    created_at timestamptz NOT NULL
);

-- tokens are kept as SHA-256 only; a token is 32 random bytes, so a slow hash would add nothing.
CREATE TABLE work.tokens (
    id         text PRIMARY KEY,
    tenant     text REFERENCES work.tenants, -- null for an operator
    role       text NOT NULL CHECK (role IN ('host', 'auditor', 'billing', 'admin', 'operator')),
    name       text NOT NULL,
    hash       bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    CHECK ((tenant IS NULL) = (role = 'operator'))
);
CREATE INDEX tokens_by_tenant ON work.tokens (tenant, created_at, id);
GRANT SELECT, INSERT, UPDATE, DELETE ON work.tenants, work.tokens TO ledger_svc;

-- +goose Down
DROP TABLE work.tokens, work.tenants;
