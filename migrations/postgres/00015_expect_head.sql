-- +goose Up

-- expect_head locks the head of the newest log and refuses (SQLSTATE LG001) unless it is the given one. An append that was
-- prepared before the lock begins with it: whatever it took for granted about the log still holds, or nothing is written.
-- Each statement below sees what was committed while the one before waited.
-- +goose StatementBegin
CREATE FUNCTION ledger.expect_head(incarnation integer, size bigint, root bytea) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM ledger.head h WHERE h.incarnation = expect_head.incarnation FOR UPDATE;
    PERFORM FROM ledger.head h
    WHERE h.incarnation = (SELECT max(n.incarnation) FROM ledger.head n)
      AND h.incarnation = expect_head.incarnation AND h.size = expect_head.size AND h.root = expect_head.root;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the head is not the expected one' USING ERRCODE = 'LG001';
    END IF;
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION ledger.expect_head(integer, bigint, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.expect_head(integer, bigint, bytea) TO ledger_svc;

-- +goose Down
DROP FUNCTION ledger.expect_head(integer, bigint, bytea);
