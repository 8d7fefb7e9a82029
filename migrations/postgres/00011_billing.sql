-- Billing: intents with the usage lines that they claim, their outcomes, and corrections of usage. Projections as in 00004; what
-- work.billing_* holds can be lost, and is made again from these.

-- +goose Up
ALTER TABLE ledger.usage_lines ADD COLUMN corrects bigint; -- the entry that this line corrects; null for a report's own
CREATE INDEX usage_lines_corrections ON ledger.usage_lines (tenant, customer_id, as_of, seq) WHERE corrects IS NOT NULL;

CREATE TABLE ledger.corrections (
    seq         bigint PRIMARY KEY,
    tenant      text NOT NULL,
    corrects    bigint NOT NULL,                -- a usage report, or a correction with a replacement
    report_seq  bigint NOT NULL,                -- the usage report that it goes back to
    request_id  text NOT NULL CHECK (octet_length(request_id) <= 512),
    customer_id text CHECK (octet_length(customer_id) <= 512),
    as_of       timestamptz NOT NULL,
    replaced    boolean NOT NULL                -- false: the report was taken back whole
);
CREATE INDEX corrections_by_report ON ledger.corrections (tenant, report_seq, seq);
CREATE INDEX corrections_by_customer ON ledger.corrections (tenant, customer_id, as_of);
CALL ledger.protect('ledger.corrections');
CALL ledger.erasable('ledger.corrections', 'customer_id');

-- billing_intents names a customer by the payment processor's id alone. Nothing in it is erased: these are the tenant's books.
CREATE TABLE ledger.billing_intents (
    seq             bigint PRIMARY KEY,
    tenant          text NOT NULL,
    identifier      text NOT NULL CHECK (octet_length(identifier) <= 100),
    config_revision bigint NOT NULL,
    meter_id        text NOT NULL CHECK (octet_length(meter_id) <= 255),
    event_name      text NOT NULL CHECK (octet_length(event_name) <= 100),
    customer_key    text NOT NULL CHECK (octet_length(customer_key) <= 100),
    stripe_customer text NOT NULL CHECK (octet_length(stripe_customer) <= 255),
    value_key       text NOT NULL CHECK (octet_length(value_key) <= 100),
    value           bigint NOT NULL CHECK (abs(value) < 1000000000000000),
    event_at        timestamptz NOT NULL,
    window_start    timestamptz NOT NULL,
    window_end      timestamptz NOT NULL,
    period_start    timestamptz NOT NULL,       -- of the billing period that event_at is in
    period_end      timestamptz NOT NULL,
    claims          integer NOT NULL,
    replaces        bigint,
    CONSTRAINT billing_replaced_once UNIQUE (tenant, replaces)
);
CREATE INDEX billing_intents_by_time ON ledger.billing_intents (tenant, stripe_customer, meter_id, event_at);
CREATE INDEX billing_intents_by_window ON ledger.billing_intents (tenant, stripe_customer, window_start, seq);
CALL ledger.protect('ledger.billing_intents');

-- billing_claims is exactly-once: a usage line is billed by one intent, whoever plans it however often.
CREATE TABLE ledger.billing_claims (
    seq         bigint NOT NULL,                -- of the intent
    tenant      text NOT NULL,
    usage_seq   bigint NOT NULL,
    provider_id text NOT NULL,
    tokens      bigint NOT NULL CHECK (tokens <> 0),
    CONSTRAINT billing_claimed_once PRIMARY KEY (tenant, usage_seq, provider_id)
);
CREATE INDEX billing_claims_by_intent ON ledger.billing_claims (seq);
CALL ledger.protect('ledger.billing_claims');

CREATE TABLE ledger.billing_outcomes (
    seq        bigint PRIMARY KEY,
    tenant     text NOT NULL,
    intent_seq bigint NOT NULL,
    number     integer NOT NULL CHECK (number > 0),
    state      text NOT NULL CHECK (state IN ('confirmed', 'parked', 'stopped', 'replaced')),
    cause      text NOT NULL CHECK (octet_length(cause) <= 32),
    UNIQUE (tenant, intent_seq, number)
);
CALL ledger.protect('ledger.billing_outcomes');

-- billing_feeds says up to where work.billing_waiting and work.billing_open follow the log, and what the former was fed under.
CREATE TABLE work.billing_feeds (
    tenant    text PRIMARY KEY,
    since     bigint NOT NULL,                  -- where the log ended when the row was made: what became of earlier intents is not known here
    next_seq  bigint NOT NULL DEFAULT 0,
    revision  bigint NOT NULL,                  -- of the configuration; the next two are its
    start     timestamptz NOT NULL,
    providers text[]                            -- null: all count
);

-- billing_waiting are the usage lines that count and that nothing claims, so that planning never looks through those that are billed. It
-- keeps the customer of a line that was erased before it was billed, until it is.
CREATE TABLE work.billing_waiting (
    tenant      text NOT NULL,
    seq         bigint NOT NULL,
    provider_id text NOT NULL,
    customer_id text NOT NULL,
    as_of       timestamptz NOT NULL,
    tokens      bigint NOT NULL,
    PRIMARY KEY (tenant, seq, provider_id)
);
CREATE INDEX billing_waiting_by_customer ON work.billing_waiting (tenant, customer_id, as_of, seq, provider_id);

-- billing_open are the intents that are not settled, with the calls that were made for each.
CREATE TABLE work.billing_open (
    tenant          text NOT NULL,
    intent          bigint NOT NULL,
    stripe_customer text NOT NULL,
    meter_id        text NOT NULL,
    state           text NOT NULL CHECK (state IN ('planned', 'parked', 'stopped')),
    attempts        integer NOT NULL DEFAULT 0,
    first_try       timestamptz,
    last_try        timestamptz,
    next_try        timestamptz,
    absent_since    timestamptz,
    detail          text,
    PRIMARY KEY (tenant, intent)
);
CREATE INDEX billing_open_by_lane ON work.billing_open (tenant, stripe_customer, meter_id, intent);
CREATE INDEX billing_open_by_state ON work.billing_open (tenant, state, intent);

-- billing_lanes: who may call the payment processor for a customer and a meter, one at a time.
CREATE TABLE work.billing_lanes (
    tenant          text NOT NULL,
    stripe_customer text NOT NULL,              -- '' with meter '': planning of the tenant
    meter_id        text NOT NULL,
    holder          text NOT NULL,
    lease_until     timestamptz NOT NULL,
    PRIMARY KEY (tenant, stripe_customer, meter_id)
);

-- billing_absent are confirmed events that the payment processor's summaries were seen to lack.
CREATE TABLE work.billing_absent (
    tenant          text NOT NULL,
    intent          bigint NOT NULL,
    stripe_customer text NOT NULL,
    meter_id        text NOT NULL,
    event_at        timestamptz NOT NULL,
    since           timestamptz NOT NULL,
    PRIMARY KEY (tenant, intent)
);
CREATE INDEX billing_absent_by_lane ON work.billing_absent (tenant, stripe_customer, meter_id, event_at);

-- billing_standings is what the last reconciliation of a customer's billing period found.
CREATE TABLE work.billing_standings (
    tenant          text NOT NULL,
    stripe_customer text NOT NULL,
    meter_id        text NOT NULL,
    period_start    timestamptz NOT NULL,
    period_end      timestamptz NOT NULL,
    customer_id     text NOT NULL,
    confirmed       bigint NOT NULL,
    adding          bigint NOT NULL,
    taking_back     bigint NOT NULL,
    planned         bigint NOT NULL,
    parked          bigint NOT NULL,
    intents         bigint NOT NULL,
    last_confirmed  timestamptz,
    total           bigint NOT NULL,
    agreement       text NOT NULL,
    detail          text NOT NULL,
    checked_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant, stripe_customer, meter_id, period_start)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON work.billing_feeds, work.billing_waiting, work.billing_open, work.billing_lanes, work.billing_absent, work.billing_standings TO ledger_svc;

-- erase is that of 00006, with the tenant's books among what stays whole.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ledger.erase(erasure bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner   text;
    targets bigint[];
    t       record;
BEGIN
    SELECT e.tenant INTO owner FROM ledger.entries e
    WHERE e.seq = erasure AND e.kind = 'erasure' AND e.xmin = pg_current_xact_id()::xid;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'entry % is no erasure of this transaction', erasure USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT array_agg(s::bigint) INTO targets FROM ledger.contents c,
        jsonb_array_elements_text(convert_from(c.content, 'UTF8')::jsonb -> 'artifact' -> 'seqs') s WHERE c.seq = erasure;
    IF EXISTS (SELECT 1 FROM unnest(targets) x LEFT JOIN ledger.entries e ON e.seq = x
               WHERE e.seq IS NULL OR e.tenant <> owner
                  OR e.kind IN ('erasure', 'incarnation', 'trust-policy', 'billing-config', 'billing-intent', 'billing-outcome')) THEN
        RAISE EXCEPTION 'entry % names an entry that it may not erase', erasure USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO ledger.erased (seq, erasure_seq) SELECT x, erasure FROM unnest(targets) x ON CONFLICT DO NOTHING;
    FOR t IN SELECT p.table_name, string_agg(format('%I = NULL', p.column_name), ', ') AS nulls
             FROM information_schema.column_privileges p
             WHERE p.grantee = 'ledger_eraser' AND p.privilege_type = 'UPDATE' AND p.table_schema = 'ledger' GROUP BY 1 LOOP
        EXECUTE format('UPDATE ledger.%I SET %s WHERE seq = ANY ($1)', t.table_name, t.nulls) USING targets;
    END LOOP;
    RETURN cardinality(targets);
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE work.billing_standings, work.billing_absent, work.billing_lanes, work.billing_open, work.billing_waiting, work.billing_feeds;
DROP TABLE ledger.billing_outcomes, ledger.billing_claims, ledger.billing_intents, ledger.corrections;
DROP INDEX ledger.usage_lines_corrections;
ALTER TABLE ledger.usage_lines DROP COLUMN corrects;
