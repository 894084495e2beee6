CREATE TABLE t(consumer_id INT NOT NULL, event_id BIGINT NOT NULL, payload_hash BLOB NOT NULL, result_code INT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY(consumer_id,event_id)) WITHOUT ROWID;
CREATE INDEX k_created ON t(created_at);
