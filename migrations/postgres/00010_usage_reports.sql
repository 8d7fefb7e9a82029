-- +goose Up

-- usage_reports has a row for each report, so that one which reached no provider, and has no usage line, is found too.
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

-- +goose Down
DROP TABLE ledger.usage_reports;
