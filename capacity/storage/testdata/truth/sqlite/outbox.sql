CREATE TABLE t(id INTEGER PRIMARY KEY, aggregate_type TEXT NOT NULL, aggregate_id TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL, claim_id BLOB, claim_version INT NOT NULL, lease_until INTEGER, created_at INTEGER NOT NULL);
CREATE INDEX k_sl ON t(state,lease_until);
