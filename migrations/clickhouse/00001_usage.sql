-- usage_events repeats ledger.usage_lines for questions over many frames. It is a projection: it can be emptied and sent again.
-- A batch may arrive more than once, so the engine keeps one row per sorting key, and everybody reads through the view, whose
-- FINAL holds before the merge too. Nothing sums on insert: such a sum would count a row as often as it was sent.

-- +goose Up
CREATE TABLE usage_events (
    tenant          LowCardinality(String),
    customer_id     String CODEC(ZSTD(1)),           -- '' once erased
    as_of           DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)), -- microseconds, as Postgres keeps them
    request_id      String CODEC(ZSTD(1)),
    turn_id         String CODEC(ZSTD(1)),           -- '' once erased
    provider_id     LowCardinality(String),
    entry_seq       Int64 CODEC(Delta, ZSTD(1)),     -- the entry in the log
    frames_served   Int64 CODEC(T64, ZSTD(1)),
    frames_rejected Int64 CODEC(T64, ZSTD(1)),
    tokens          Int64 CODEC(T64, ZSTD(1)),       -- signed: a correction takes back
    frames          Nested (
        provider_id    LowCardinality(String),
        frame_id       String,
        content_digest Nullable(String),
        tokens         Int64
    ),                                               -- empty once erased
    erased          Bool,
    version         UInt64 CODEC(Delta, ZSTD(1))     -- seq of the entry that last changed the row
) ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(as_of)
ORDER BY (tenant, customer_id, toStartOfHour(as_of), request_id, provider_id, entry_seq)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE VIEW usage AS SELECT * FROM usage_events FINAL;

-- +goose Down
DROP VIEW usage;
DROP TABLE usage_events;
