-- Projections are written in the append transaction and derived from contents alone, so fsck can compare them. Columns that
-- an erasure nulls are nullable; integers that money needs stay.

-- +goose Up
CREATE TABLE ledger.usage_lines (
    seq             bigint NOT NULL,
    tenant          text NOT NULL,
    line            integer NOT NULL,       -- rank of the provider within the report
    request_id      text NOT NULL,
    turn_id         text,
    customer_id     text,
    provider_id     text NOT NULL,
    as_of           timestamptz NOT NULL,
    frames_served   bigint NOT NULL,
    frames_rejected bigint NOT NULL,
    tokens          bigint NOT NULL,
    frame_providers text[],                 -- null when every frame names the row's own provider
    frame_ids       text[],
    frame_digests   text[],
    frame_tokens    bigint[],
    PRIMARY KEY (seq, line)
);
CREATE INDEX usage_lines_by_time ON ledger.usage_lines (tenant, as_of, provider_id);
CREATE INDEX usage_lines_by_customer ON ledger.usage_lines (tenant, customer_id, as_of);
CALL ledger.protect('ledger.usage_lines');

CREATE TABLE ledger.consents (
    seq              bigint PRIMARY KEY,
    tenant           text NOT NULL,
    provider_id      text NOT NULL,
    scope            text NOT NULL,
    provider_name    text NOT NULL,
    provider_version text NOT NULL,
    grantor_kind     text NOT NULL,
    grantor_id       text,
    granted_at_text  text NOT NULL,          -- as the artifact spells it
    granted_at       timestamptz,            -- null when the spelling is outside the protocol's profile
    expires_at_text  text,
    expires_at       timestamptz
);
CREATE INDEX consents_by_provider ON ledger.consents (tenant, provider_id, scope, seq);
CALL ledger.protect('ledger.consents');

CREATE TABLE ledger.receipts (
    seq             bigint PRIMARY KEY,
    tenant          text NOT NULL,
    receipt_id      text NOT NULL,
    receipt_digest  text NOT NULL,
    request_digest  text NOT NULL,
    response_digest text NOT NULL,
    endpoint_host   text NOT NULL,
    model_id        text NOT NULL,
    retention_class text NOT NULL,
    provider        text NOT NULL,
    exchanged_at    timestamptz NOT NULL,
    witness_mode    text NOT NULL,
    status          text NOT NULL,
    request_id      text
);
CREATE INDEX receipts_by_receipt ON ledger.receipts (tenant, receipt_id, seq);
CREATE INDEX receipts_by_request ON ledger.receipts (tenant, request_digest, seq);
CREATE INDEX receipts_by_time ON ledger.receipts (tenant, exchanged_at, seq);
CALL ledger.protect('ledger.receipts');

-- +goose Down
DROP TABLE ledger.receipts, ledger.consents, ledger.usage_lines;
