-- +goose Up

-- reports_without_lines replaces usage_reports: only what has no usage line needs a row of its own.
CREATE TABLE ledger.reports_without_lines (
    seq         bigint PRIMARY KEY,
    tenant      text NOT NULL,
    request_id  text NOT NULL,
    turn_id     text,
    customer_id text,
    as_of       timestamptz NOT NULL
);
CREATE INDEX reports_without_lines_by_customer ON ledger.reports_without_lines (tenant, customer_id, as_of);
CALL ledger.protect('ledger.reports_without_lines');
CALL ledger.erasable('ledger.reports_without_lines', 'turn_id', 'customer_id');
INSERT INTO ledger.reports_without_lines SELECT seq, tenant, request_id, turn_id, customer_id, as_of FROM ledger.usage_reports WHERE providers = 0;
DROP TABLE ledger.usage_reports;

-- +goose Down
CREATE TABLE ledger.usage_reports (
    seq         bigint PRIMARY KEY,
    tenant      text NOT NULL,
    request_id  text NOT NULL,
    turn_id     text,
    customer_id text,
    as_of       timestamptz NOT NULL,
    providers   integer NOT NULL
);
CREATE INDEX usage_reports_without_lines ON ledger.usage_reports (tenant, customer_id, as_of) WHERE providers = 0;
CALL ledger.protect('ledger.usage_reports');
CALL ledger.erasable('ledger.usage_reports', 'turn_id', 'customer_id');
DROP TABLE ledger.reports_without_lines;
