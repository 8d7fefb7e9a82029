-- What findings and answers look up beside what 00005 indexes: the last verdict on a frame, and what was erased of a period. The last two
-- hold erased rows only, so appending never pays for them.

-- +goose Up
CREATE INDEX frame_verdicts_by_frame ON ledger.frame_verdicts (tenant, provider_id, frame_id, verified_at, seq);
CREATE INDEX usage_lines_erased ON ledger.usage_lines (tenant, as_of, seq) WHERE frame_ids IS NULL AND frames_served > 0;
CREATE INDEX receipts_erased ON ledger.receipts (tenant, exchanged_at, seq) WHERE receipt_id IS NULL;

-- +goose Down
DROP INDEX ledger.receipts_erased, ledger.usage_lines_erased, ledger.frame_verdicts_by_frame;
