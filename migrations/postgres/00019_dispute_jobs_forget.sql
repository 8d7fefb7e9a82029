-- A dispute job that has failed forgets whom it is about: so do those that failed before jobs did.

-- +goose Up
UPDATE work.dispute_jobs SET customer_id = '', request_id = '', receipt_id = '', reason = '' WHERE state = 'failed';

-- +goose Down
SELECT 1; -- what is forgotten stays so
