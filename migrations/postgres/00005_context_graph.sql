-- The rest of the Context Graph's artifacts: consent taken back, the older boolean consent, what providers declare, and the
-- verification of held frames. All are new tables beside ledger.consents, which stays as it is.

-- +goose Up
CREATE TABLE ledger.consent_revocations (
    seq             bigint PRIMARY KEY,
    tenant          text NOT NULL,
    provider_id     text NOT NULL CHECK (octet_length(provider_id) <= 512),
    scope           text CHECK (octet_length(scope) <= 512),                    -- null: the boolean consent
    revoked_by_kind text NOT NULL CHECK (revoked_by_kind IN ('human', 'policy')),
    revoked_by_id   text CHECK (octet_length(revoked_by_id) <= 512),
    revoked_at_text text NOT NULL CHECK (octet_length(revoked_at_text) <= 512), -- as the artifact spells it
    revoked_at      timestamptz NOT NULL,
    reason          text CHECK (octet_length(reason) <= 512)
);
CREATE INDEX consent_revocations_by_provider ON ledger.consent_revocations (tenant, provider_id, scope, seq);
CALL ledger.protect('ledger.consent_revocations');

CREATE TABLE ledger.consent_records (
    seq             bigint PRIMARY KEY,
    tenant          text NOT NULL,
    provider_id     text NOT NULL CHECK (octet_length(provider_id) <= 512),
    granted_scope   text CHECK (octet_length(granted_scope) <= 512),            -- free text
    granted_at_text text CHECK (octet_length(granted_at_text) <= 512),
    granted_at      timestamptz,                                                -- null when not said or not readable
    reads           boolean NOT NULL,
    writes          boolean NOT NULL,
    egress          boolean NOT NULL,
    egress_scopes   text[] NOT NULL CHECK (cardinality(egress_scopes) <= 256)
);
CREATE INDEX consent_records_by_provider ON ledger.consent_records (tenant, provider_id, seq);
CALL ledger.protect('ledger.consent_records');

CREATE TABLE ledger.provider_declarations (
    seq              bigint PRIMARY KEY,
    tenant           text NOT NULL,
    provider_id      text NOT NULL CHECK (octet_length(provider_id) <= 512),
    provider_name    text NOT NULL CHECK (octet_length(provider_name) <= 512),
    provider_version text NOT NULL CHECK (octet_length(provider_version) <= 512),
    declared_at_text text NOT NULL CHECK (octet_length(declared_at_text) <= 512),
    declared_at      timestamptz NOT NULL,
    reads            boolean NOT NULL,
    writes           boolean NOT NULL,
    egress           boolean NOT NULL,
    egress_scopes    text[] NOT NULL CHECK (cardinality(egress_scopes) <= 256)
);
CREATE INDEX provider_declarations_by_provider ON ledger.provider_declarations (tenant, provider_id, declared_at, seq);
CALL ledger.protect('ledger.provider_declarations');

-- frame_verdicts has a row for each held frame of a verification: 'valid' when it was retained, else why it was dropped.
CREATE TABLE ledger.frame_verdicts (
    seq                bigint NOT NULL,
    tenant             text NOT NULL,
    line               integer NOT NULL,
    provider_id        text NOT NULL CHECK (octet_length(provider_id) <= 512),
    verified_at        timestamptz NOT NULL,
    frame_id           text CHECK (octet_length(frame_id) <= 512),
    content_digest     text CHECK (octet_length(content_digest) <= 512),
    result             text NOT NULL CHECK (octet_length(result) <= 32),
    replacement_digest text CHECK (octet_length(replacement_digest) <= 512),
    PRIMARY KEY (seq, line)
);
CREATE INDEX frame_verdicts_by_time ON ledger.frame_verdicts (tenant, verified_at, provider_id);
CALL ledger.protect('ledger.frame_verdicts');

-- What the audit questions look up: a provider's usage over time, what a person agreed to, a request's receipts.
CREATE INDEX usage_lines_by_provider ON ledger.usage_lines (tenant, provider_id, as_of);
CREATE INDEX consents_by_grantor ON ledger.consents (tenant, grantor_id, seq);
CREATE INDEX receipts_by_request_id ON ledger.receipts (tenant, request_id, seq) WHERE request_id IS NOT NULL;

-- +goose Down
DROP INDEX ledger.receipts_by_request_id, ledger.consents_by_grantor, ledger.usage_lines_by_provider;
DROP TABLE ledger.frame_verdicts, ledger.provider_declarations, ledger.consent_records, ledger.consent_revocations;
