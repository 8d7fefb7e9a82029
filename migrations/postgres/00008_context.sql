-- Context assemblies: the projections of profiles, snapshots, plans, assemblies, compactions, recoveries and conflicts.

-- +goose Up
CREATE TABLE ledger.context_profiles (
    seq                 bigint PRIMARY KEY,
    tenant              text NOT NULL,
    profile_revision_id text NOT NULL CHECK (octet_length(profile_revision_id) <= 200),
    content_digest      text CHECK (octet_length(content_digest) <= 71)
);
CREATE INDEX context_profiles_by_id ON ledger.context_profiles (tenant, profile_revision_id, seq);
CREATE INDEX context_profiles_by_digest ON ledger.context_profiles (tenant, content_digest, seq);
CALL ledger.protect('ledger.context_profiles');
CALL ledger.erasable('ledger.context_profiles', 'content_digest');

CREATE TABLE ledger.context_snapshots (
    seq                 bigint PRIMARY KEY,
    tenant              text NOT NULL,
    snapshot_id         text NOT NULL CHECK (octet_length(snapshot_id) <= 200),
    snapshot_digest     text CHECK (octet_length(snapshot_digest) <= 71),
    turn_id             text CHECK (octet_length(turn_id) <= 200),
    profile_revision_id text NOT NULL CHECK (octet_length(profile_revision_id) <= 200)
);
CREATE INDEX context_snapshots_by_id ON ledger.context_snapshots (tenant, snapshot_id, seq);
CREATE INDEX context_snapshots_by_turn ON ledger.context_snapshots (tenant, turn_id, seq);
CREATE INDEX context_snapshots_by_digest ON ledger.context_snapshots (tenant, snapshot_digest, seq);
CALL ledger.protect('ledger.context_snapshots');
CALL ledger.erasable('ledger.context_snapshots', 'snapshot_digest', 'turn_id');

CREATE TABLE ledger.context_plans (
    seq                 bigint PRIMARY KEY,
    tenant              text NOT NULL,
    plan_id             text NOT NULL CHECK (octet_length(plan_id) <= 200),
    plan_digest         text CHECK (octet_length(plan_digest) <= 71),
    context_assembly_id text NOT NULL CHECK (octet_length(context_assembly_id) <= 200),
    snapshot_id         text NOT NULL CHECK (octet_length(snapshot_id) <= 200)
);
CREATE INDEX context_plans_by_id ON ledger.context_plans (tenant, plan_id, seq);
CREATE INDEX context_plans_by_snapshot ON ledger.context_plans (tenant, snapshot_id, seq);
CREATE INDEX context_plans_by_digest ON ledger.context_plans (tenant, plan_digest, seq);
CALL ledger.protect('ledger.context_plans');
CALL ledger.erasable('ledger.context_plans', 'plan_digest');

CREATE TABLE ledger.context_assemblies (
    seq                 bigint PRIMARY KEY,
    tenant              text NOT NULL,
    context_assembly_id text NOT NULL CHECK (octet_length(context_assembly_id) <= 200),
    turn_id             text CHECK (octet_length(turn_id) <= 200),
    snapshot_id         text CHECK (octet_length(snapshot_id) <= 200),  -- null where no profile resolved; so is the plan
    plan_id             text CHECK (octet_length(plan_id) <= 200),
    assembly_kind       text NOT NULL CHECK (octet_length(assembly_kind) <= 32),
    outcome             text CHECK (octet_length(outcome) <= 32),       -- as recorded; null for a rebuild after compaction
    verdict             text NOT NULL CHECK (verdict IN ('verified', 'mismatch', 'indeterminate'))
);
CREATE INDEX context_assemblies_by_id ON ledger.context_assemblies (tenant, context_assembly_id, seq);
CREATE INDEX context_assemblies_by_turn ON ledger.context_assemblies (tenant, turn_id, seq);
CALL ledger.protect('ledger.context_assemblies');
CALL ledger.erasable('ledger.context_assemblies', 'turn_id');

CREATE TABLE ledger.context_compactions (
    seq                     bigint PRIMARY KEY,
    tenant                  text NOT NULL,
    compaction_operation_id text NOT NULL CHECK (octet_length(compaction_operation_id) <= 200),
    turn_id                 text CHECK (octet_length(turn_id) <= 200),
    snapshot_id             text NOT NULL CHECK (octet_length(snapshot_id) <= 200),
    verdict                 text NOT NULL CHECK (verdict IN ('verified', 'mismatch', 'indeterminate'))
);
CREATE INDEX context_compactions_by_turn ON ledger.context_compactions (tenant, turn_id, seq);
CALL ledger.protect('ledger.context_compactions');
CALL ledger.erasable('ledger.context_compactions', 'turn_id');

CREATE TABLE ledger.context_recoveries (
    seq         bigint PRIMARY KEY,
    tenant      text NOT NULL,
    recovery_id text NOT NULL CHECK (octet_length(recovery_id) <= 256),
    turn_id     text CHECK (octet_length(turn_id) <= 200),
    snapshot_id text NOT NULL CHECK (octet_length(snapshot_id) <= 200),
    verdict     text NOT NULL CHECK (verdict IN ('verified', 'mismatch', 'indeterminate'))
);
CREATE INDEX context_recoveries_by_turn ON ledger.context_recoveries (tenant, turn_id, seq);
CALL ledger.protect('ledger.context_recoveries');
CALL ledger.erasable('ledger.context_recoveries', 'turn_id');

-- conflicts has what was refused because of an entry, held_by, that stands in the way.
CREATE TABLE ledger.conflicts (
    seq     bigint PRIMARY KEY,
    tenant  text NOT NULL,
    held_by bigint NOT NULL,
    ordinal integer NOT NULL,
    of_kind text NOT NULL CHECK (octet_length(of_kind) <= 512),
    of_key  text NOT NULL CHECK (octet_length(of_key) <= 512),
    claim   text NOT NULL CHECK (octet_length(claim) <= 512)
);
CREATE INDEX conflicts_by_holder ON ledger.conflicts (tenant, held_by, seq);
CALL ledger.protect('ledger.conflicts');

CREATE INDEX usage_lines_by_turn ON ledger.usage_lines (tenant, turn_id, seq);

-- +goose Down
DROP INDEX ledger.usage_lines_by_turn;
DROP TABLE ledger.conflicts, ledger.context_recoveries, ledger.context_compactions, ledger.context_assemblies, ledger.context_plans, ledger.context_snapshots, ledger.context_profiles;
