-- What the shipper of usage to ClickHouse remembers. All of it can be lost: a rebuild sends everything again.

-- +goose Up
CREATE TABLE work.shipping (
    only_row      boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch         bigint NOT NULL DEFAULT 1,          -- rises with each deliberate re-stream
    next_seq      bigint NOT NULL DEFAULT 0,          -- every entry below is shipped
    holder        text NOT NULL DEFAULT '',           -- the process that ships
    lease_until   timestamptz NOT NULL DEFAULT '-infinity',
    reconciled_at timestamptz,
    drifted_days  bigint NOT NULL DEFAULT 0           -- found by the last reconciliation and not repaired
);
INSERT INTO work.shipping DEFAULT VALUES;

-- A batch is written before it is sent, so that whoever sends it again sends the same stretch.
CREATE TABLE work.shipping_batches (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch      bigint NOT NULL,
    first_seq  bigint NOT NULL,
    end_seq    bigint NOT NULL CHECK (end_seq > first_seq), -- not included
    lines      integer NOT NULL,
    digest     bytea NOT NULL CHECK (octet_length(digest) = 32),
    done       boolean NOT NULL DEFAULT false,
    attempts   integer NOT NULL DEFAULT 0,
    last_error text,
    opened_at  timestamptz NOT NULL DEFAULT now(),
    done_at    timestamptz
);
CREATE UNIQUE INDEX shipping_batches_one_open ON work.shipping_batches (done) WHERE NOT done;

-- Lines that ClickHouse refuses for what they hold. They are part of every sum from Postgres.
CREATE TABLE work.shipping_quarantine (
    seq         bigint NOT NULL,
    provider_id text NOT NULL,
    reason      text NOT NULL,
    since       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (seq, provider_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON work.shipping, work.shipping_batches, work.shipping_quarantine TO ledger_svc;

CREATE INDEX erased_by_erasure ON ledger.erased (erasure_seq); -- what an erasure that is shipped concerns

-- +goose Down
DROP INDEX ledger.erased_by_erasure;
DROP TABLE work.shipping_quarantine, work.shipping_batches, work.shipping;
