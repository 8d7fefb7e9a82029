-- erase is that of 00011, but it also demands that the log says so: without that, the service's role alone could write an
-- erasure where no leaf ever stands, and destroy every content with it unnoticed.

-- +goose Up

-- What the owner makes from now on is nobody's but the owner's; Postgres would let everybody execute it.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- erasable_kinds are the kinds whose entries an erasure may name. A test holds them equal to those of the kind registry, so that
-- a new kind is refused until a migration adds it here.
-- +goose StatementBegin
CREATE FUNCTION ledger.erasable_kinds() RETURNS text[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY['usage-report', 'consent-receipt', 'consent-revocation', 'consent-record', 'provider-declaration', 'frame-verification',
        'receipt-bundle', 'correction', 'context-profile', 'context-snapshot', 'context-plan', 'context-assembly', 'context-compaction',
        'context-recovery', 'conflict', 'dispute']
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION ledger.erasable_kinds() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.erasable_kinds() TO ledger_eraser;
GRANT SELECT ON ledger.head TO ledger_eraser;

-- erase carries out one erasure entry, in the transaction that appends it and in no other. It trusts nothing that it is
-- told: the entry must be an erasure, written just now, in the newest log whose head was moved over it just now, and of the
-- same tenant as every entry that it names. What moves the head without a leaf for it is found by whoever has a checkpoint.
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
    IF NOT EXISTS (SELECT 1 FROM ledger.head h WHERE h.incarnation = (SELECT max(n.incarnation) FROM ledger.head n)
                   AND h.base <= erasure AND h.base + h.size > erasure AND h.xmin = pg_current_xact_id()::xid) THEN
        RAISE EXCEPTION 'this transaction did not move the head over entry %', erasure USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT array_agg(s::bigint) INTO targets FROM ledger.contents c,
        jsonb_array_elements_text(convert_from(c.content, 'UTF8')::jsonb -> 'artifact' -> 'seqs') s WHERE c.seq = erasure;
    IF EXISTS (SELECT 1 FROM unnest(targets) x LEFT JOIN ledger.entries e ON e.seq = x
               WHERE e.seq IS NULL OR e.tenant <> owner OR e.kind <> ALL (ledger.erasable_kinds())) THEN
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
REVOKE SELECT ON ledger.head FROM ledger_eraser;
DROP FUNCTION ledger.erasable_kinds();
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
