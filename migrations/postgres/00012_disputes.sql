-- Disputes and what verifying entries again found, and what the self-audit and long disputes remember of their work.

-- +goose Up
CREATE TABLE ledger.reverifications (
    seq    bigint PRIMARY KEY,
    tenant text NOT NULL,
    of_seq bigint NOT NULL,
    cause  text NOT NULL CHECK (cause IN ('self-audit', 'dispute')),
    result text NOT NULL,
    digest text NOT NULL
);
CREATE INDEX reverifications_of ON ledger.reverifications (of_seq, cause, seq);
CALL ledger.protect('ledger.reverifications');

CREATE TABLE ledger.disputes (
    seq           bigint PRIMARY KEY,
    tenant        text NOT NULL,
    dispute_id    text NOT NULL,
    customer_id   text,
    from_at       timestamptz,
    to_at         timestamptz,
    billing_event text,
    request_id    text,
    receipt_id    text,
    result        text NOT NULL CHECK (result IN ('explained', 'upheld', 'inconclusive'))
);
CREATE INDEX disputes_by_id ON ledger.disputes (tenant, dispute_id);
CREATE INDEX disputes_by_customer ON ledger.disputes (tenant, customer_id, seq);
CALL ledger.protect('ledger.disputes');
CALL ledger.erasable('ledger.disputes', 'customer_id', 'request_id', 'receipt_id');

-- The one self-audit among all processes. It can be lost: the next passes begin anew.
CREATE TABLE work.self_audit (
    only_row      boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    holder        text NOT NULL DEFAULT '',
    lease_until   timestamptz NOT NULL DEFAULT '-infinity',
    sample_next   bigint NOT NULL DEFAULT 0,      -- where the rotating sample goes on
    sampled_at    timestamptz NOT NULL DEFAULT now(),
    full_next     bigint NOT NULL DEFAULT 0,      -- every entry of the full pass below is checked
    full_end      bigint NOT NULL DEFAULT 0,      -- where the full pass under way ends; full_next when none is
    full_began_at timestamptz NOT NULL DEFAULT now(),
    full_done_at  timestamptz,                    -- of the last whole one
    checked       bigint NOT NULL DEFAULT 0       -- entries, ever
);
INSERT INTO work.self_audit DEFAULT VALUES;

-- Disputes that take longer than a request may. The entry is the truth; a job that is lost was never promised to be recorded.
CREATE TABLE work.dispute_jobs (
    tenant      text NOT NULL,
    dispute_id  text NOT NULL,
    role        text NOT NULL,                    -- who raised it
    token_id    text NOT NULL,
    customer_id   text NOT NULL,                  -- the question, '' and null for what it does not name
    from_at       timestamptz,
    to_at         timestamptz,
    billing_event text NOT NULL,
    request_id    text NOT NULL,
    receipt_id    text NOT NULL,
    reason      text NOT NULL,
    reverifies  bigint,                           -- the dispute's entry, when it is to be verified again; null for a new one
    state       text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'failed')),
    done        bigint NOT NULL DEFAULT 0,        -- entries verified, of total
    total       bigint NOT NULL DEFAULT 0,
    attempts    integer NOT NULL DEFAULT 0,
    problem     text,                             -- of a failed one: a problem's code
    holder      text NOT NULL DEFAULT '',
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    raised_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, dispute_id)
);
CREATE INDEX dispute_jobs_open ON work.dispute_jobs (raised_at) WHERE state IN ('queued', 'running');
GRANT SELECT, INSERT, UPDATE, DELETE ON work.self_audit, work.dispute_jobs TO ledger_svc;

-- +goose Down
DROP TABLE work.dispute_jobs, work.self_audit, ledger.disputes, ledger.reverifications;
