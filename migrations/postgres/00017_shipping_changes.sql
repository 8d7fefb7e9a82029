-- What rewrites lines that ClickHouse has shown already: an erasure, a repair, a rebuild. While a row is here, and when changes
-- rose during a question, the answer may be short and says so.

-- +goose Up
CREATE TABLE work.shipping_changes (
    name  text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE work.shipping ADD COLUMN changes bigint NOT NULL DEFAULT 0;
GRANT SELECT, INSERT, UPDATE, DELETE ON work.shipping_changes TO ledger_svc;

-- +goose Down
ALTER TABLE work.shipping DROP COLUMN changes;
DROP TABLE work.shipping_changes;
