-- Erasure destroys what a person is entitled to have destroyed, and nothing else: contents, their salts, and the personal
-- columns of projections. Leaves, proofs, times and sums stay.

-- +goose Up

-- erased says which erasure entry destroyed an entry's content. Only erase() writes it.
CREATE TABLE ledger.erased (
    seq         bigint PRIMARY KEY,
    erasure_seq bigint NOT NULL CHECK (erasure_seq > seq)
);
CALL ledger.protect('ledger.erased');
REVOKE INSERT ON ledger.erased FROM ledger_svc;
GRANT USAGE ON SCHEMA ledger TO ledger_eraser;
GRANT SELECT, INSERT ON ledger.erased TO ledger_eraser;
GRANT SELECT ON ledger.entries TO ledger_eraser;

-- refuse_all_but_erasure is the trigger of tables that have something personal. Its arguments are the personal columns; that
-- nothing else changes follows from the eraser's column grants.
-- +goose StatementBegin
CREATE FUNCTION ledger.refuse_all_but_erasure() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_user = 'ledger_eraser'
       AND EXISTS (SELECT 1 FROM ledger.erased e WHERE e.seq = OLD.seq)
       AND NOT EXISTS (SELECT 1 FROM jsonb_each(to_jsonb(NEW)) c WHERE c.key = ANY (TG_ARGV) AND c.value <> 'null') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'ledger.% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION ledger.refuse_all_but_erasure() FROM PUBLIC;

-- erasable names a protected table's personal columns. A test holds them equal to those of the kind registry.
-- +goose StatementBegin
CREATE PROCEDURE ledger.erasable(target regclass, VARIADIC personal text[]) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    columns text := (SELECT string_agg(format('%I', p), ', ') FROM unnest(personal) p);
    quoted  text := (SELECT string_agg(format('%L', p), ', ') FROM unnest(personal) p);
BEGIN
    EXECUTE format('DROP TRIGGER append_only ON %s', target);
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION ledger.refuse_all_but_erasure(%s)', target, quoted);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', target);
    EXECUTE format('GRANT SELECT, UPDATE (%s) ON %s TO ledger_eraser', columns, target);
END $$;
-- +goose StatementEnd
REVOKE ALL ON PROCEDURE ledger.erasable(regclass, text[]) FROM PUBLIC;

ALTER TABLE ledger.receipts ALTER receipt_id DROP NOT NULL, ALTER request_digest DROP NOT NULL, ALTER response_digest DROP NOT NULL;

CALL ledger.erasable('ledger.contents', 'content', 'content_salt');
CALL ledger.erasable('ledger.usage_lines', 'turn_id', 'customer_id', 'frame_providers', 'frame_ids', 'frame_digests');
CALL ledger.erasable('ledger.consents', 'grantor_id');
CALL ledger.erasable('ledger.receipts', 'receipt_id', 'request_digest', 'response_digest', 'request_id');
CALL ledger.erasable('ledger.consent_revocations', 'revoked_by_id', 'reason');
CALL ledger.erasable('ledger.consent_records', 'granted_scope');
CALL ledger.erasable('ledger.frame_verdicts', 'frame_id', 'content_digest', 'replacement_digest');

-- erase carries out one erasure entry, in the transaction that appends it and in no other. It trusts nothing that it is
-- told: the entry must be an erasure, written just now, and of the same tenant as every entry that it names.
-- +goose StatementBegin
CREATE FUNCTION ledger.erase(erasure bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
               WHERE e.seq IS NULL OR e.tenant <> owner OR e.kind IN ('erasure', 'incarnation', 'trust-policy', 'billing-config')) THEN
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
REVOKE ALL ON FUNCTION ledger.erase(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.erase(bigint) TO ledger_svc;

GRANT CREATE ON SCHEMA ledger TO ledger_eraser; -- needed to become an owner in it, and taken back at once
ALTER FUNCTION ledger.erase(bigint) OWNER TO ledger_eraser;
REVOKE CREATE ON SCHEMA ledger FROM ledger_eraser;

-- +goose Down
DROP FUNCTION ledger.erase(bigint);
-- The tables keep their stricter triggers' names; they are empty when migrating down is allowed at all.
DROP TABLE ledger.erased;
-- +goose StatementBegin
DO $$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT c.tgrelid::regclass AS name FROM pg_trigger c JOIN pg_proc p ON p.oid = c.tgfoid WHERE p.proname = 'refuse_all_but_erasure' LOOP
        EXECUTE format('DROP TRIGGER append_only ON %s', t.name);
        EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()', t.name);
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', t.name);
        EXECUTE format('REVOKE ALL ON %s FROM ledger_eraser', t.name);
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE ALL ON ledger.entries FROM ledger_eraser;
REVOKE USAGE ON SCHEMA ledger FROM ledger_eraser;
DROP PROCEDURE ledger.erasable(regclass, text[]);
DROP FUNCTION ledger.refuse_all_but_erasure();
ALTER TABLE ledger.receipts ALTER receipt_id SET NOT NULL, ALTER request_digest SET NOT NULL, ALTER response_digest SET NOT NULL;
