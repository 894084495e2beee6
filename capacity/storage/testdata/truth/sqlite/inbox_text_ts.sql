CREATE TABLE t(consumer_name VARCHAR(64) NOT NULL, event_id VARCHAR(64) NOT NULL, payload_hash CHAR(64) NOT NULL, result_code VARCHAR(32), created_at INTEGER NOT NULL, PRIMARY KEY(consumer_name,event_id));
CREATE INDEX k_created ON t(created_at);
