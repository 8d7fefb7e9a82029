-- Two schemas: ledger is append-only and enforced so against the service itself; work is mutable, and rebuildable or
-- operational. The roles (ledger_owner, ledger_svc, ledger_eraser) are made by `ledgerd bootstrap` before.

-- +goose Up
CREATE SCHEMA ledger;
CREATE SCHEMA work;
GRANT USAGE ON SCHEMA ledger, work TO ledger_svc;
GRANT SELECT ON goose_db_version TO ledger_svc; -- serve refuses to start on another version

-- +goose StatementBegin
CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'ledger.% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd

-- protect makes a table append-only for everybody, a superuser in replica mode included (ENABLE ALWAYS), and lets the
-- service read and append. Every table of the schema but head goes through it; a test walks the catalogue.
-- +goose StatementBegin
CREATE PROCEDURE ledger.protect(target regclass) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()', target);
    EXECUTE format('CREATE TRIGGER never_emptied BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', target);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', target);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER never_emptied', target);
    EXECUTE format('GRANT SELECT, INSERT ON %s TO ledger_svc', target);
END $$;
-- +goose StatementEnd
REVOKE ALL ON PROCEDURE ledger.protect(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION ledger.refuse_change() FROM PUBLIC;

-- +goose Down
REVOKE SELECT ON goose_db_version FROM ledger_svc;
DROP SCHEMA work CASCADE;
DROP SCHEMA ledger CASCADE;
