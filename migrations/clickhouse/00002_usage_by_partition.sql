-- A line's sorting key has its entry, and an entry's as_of is fixed for good, so a key never changes its month: FINAL need not look
-- for it in others. With that, a question about a month reads that month's partition and no other.

-- +goose Up
CREATE OR REPLACE VIEW usage AS SELECT * FROM usage_events FINAL SETTINGS do_not_merge_across_partitions_select_final = 1;

-- +goose Down
CREATE OR REPLACE VIEW usage AS SELECT * FROM usage_events FINAL;
