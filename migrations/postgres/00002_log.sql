-- +goose Up

-- head is the log's one moving part: the newest incarnation's row is locked by every append. After a restore a new
-- incarnation is opened; the rows of earlier ones then stay as they are.
CREATE TABLE ledger.head (
    incarnation integer PRIMARY KEY CHECK (incarnation >= 0),
    origin      text NOT NULL UNIQUE CHECK (origin <> ''),
    base        bigint NOT NULL DEFAULT 0,            -- seq of the incarnation's leaf 0
    size        bigint NOT NULL CHECK (size >= 0),    -- leaves in the tree
    root        bytea NOT NULL CHECK (octet_length(root) = 32),
    recorded_at timestamptz NOT NULL,                 -- of the newest entry; never decreases
    checkpoint  text NOT NULL                         -- signed note over origin, size and root
);
GRANT SELECT, INSERT ON ledger.head TO ledger_svc;
GRANT UPDATE (size, root, recorded_at, checkpoint) ON ledger.head TO ledger_svc;

-- +goose StatementBegin
CREATE FUNCTION ledger.head_forward() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'ledger.head is never removed' USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.size < OLD.size OR NEW.recorded_at < OLD.recorded_at OR NEW.origin <> OLD.origin OR NEW.base <> OLD.base
       OR NEW.incarnation <> OLD.incarnation OR (NEW.size = OLD.size AND NEW.root <> OLD.root) THEN
        RAISE EXCEPTION 'ledger.head only moves forward' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION ledger.head_forward() FROM PUBLIC;
CREATE TRIGGER forward_only BEFORE UPDATE OR DELETE ON ledger.head FOR EACH ROW EXECUTE FUNCTION ledger.head_forward();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger.head FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.head ENABLE ALWAYS TRIGGER forward_only;
ALTER TABLE ledger.head ENABLE ALWAYS TRIGGER never_emptied;

-- entries holds what is proven without looking into a content. tenant, kind, key and token_id repeat the meta for queries.
CREATE TABLE ledger.entries (
    seq         bigint PRIMARY KEY,
    recorded_at timestamptz NOT NULL,
    tenant      text NOT NULL,
    kind        text NOT NULL,
    key         text NOT NULL,
    token_id    text NOT NULL,
    meta        bytea NOT NULL,
    meta_salt   bytea NOT NULL CHECK (octet_length(meta_salt) = 16),
    envelope    bytea NOT NULL,
    leaf_hash   bytea NOT NULL CHECK (octet_length(leaf_hash) = 32)
);
CREATE INDEX entries_by_kind ON ledger.entries (tenant, kind, seq);
CALL ledger.protect('ledger.entries');

-- contents stands apart so that an erasure touches nothing else, and scans over entries stay small.
CREATE TABLE ledger.contents (
    seq          bigint PRIMARY KEY,
    content      bytea COMPRESSION lz4,
    content_salt bytea CHECK (octet_length(content_salt) = 16)
);
CALL ledger.protect('ledger.contents');

-- keys is the idempotency guard: key_hash = the first 16 bytes of SHA-256 over tenant 0x00 kind 0x00 key.
CREATE TABLE ledger.keys (
    key_hash uuid PRIMARY KEY,
    seq      bigint NOT NULL
);
CALL ledger.protect('ledger.keys');

-- claims are names that an artifact reserves for one value (a valid receipt's id for its digest).
CREATE TABLE ledger.claims (
    tenant text NOT NULL,
    space  text NOT NULL,
    name   text NOT NULL,
    value  text NOT NULL,
    seq    bigint NOT NULL,
    PRIMARY KEY (tenant, space, name)
);
CALL ledger.protect('ledger.claims');

CREATE TABLE ledger.tiles (
    incarnation integer NOT NULL,
    level       smallint NOT NULL,
    index       bigint NOT NULL,
    root        bytea NOT NULL CHECK (octet_length(root) = 32),
    hashes      bytea NOT NULL CHECK (octet_length(hashes) = 8192),
    PRIMARY KEY (incarnation, level, index)
);
ALTER TABLE ledger.tiles ALTER COLUMN hashes SET STORAGE EXTERNAL; -- hashes don't compress
CALL ledger.protect('ledger.tiles');

-- checkpoints keeps one signed checkpoint a minute; every other one is in an answer, and the newest in head.
CREATE TABLE ledger.checkpoints (
    incarnation integer NOT NULL,
    size        bigint NOT NULL,
    signed_at   timestamptz NOT NULL,
    checkpoint  text NOT NULL,
    PRIMARY KEY (incarnation, size)
);
CALL ledger.protect('ledger.checkpoints');

-- seq_at is the first seq recorded at or after t. recorded_at never decreases along seq, so a binary search over the
-- primary key needs no index of its own.
-- +goose StatementBegin
CREATE FUNCTION ledger.seq_at(t timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    low  bigint := 0;
    high bigint := (SELECT max(h.base + h.size) FROM ledger.head h);
    mid  bigint;
BEGIN
    WHILE low < high LOOP
        mid := (low + high) / 2;
        IF (SELECT e.recorded_at < t FROM ledger.entries e WHERE e.seq = mid) THEN
            low := mid + 1;
        ELSE
            high := mid;
        END IF;
    END LOOP;
    RETURN low;
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION ledger.seq_at(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.seq_at(timestamptz) TO ledger_svc;

-- +goose Down
DROP FUNCTION ledger.seq_at(timestamptz);
DROP TABLE ledger.checkpoints, ledger.tiles, ledger.claims, ledger.keys, ledger.contents, ledger.entries, ledger.head;
DROP FUNCTION ledger.head_forward();
