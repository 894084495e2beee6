CREATE TABLE t(consumer_name VARCHAR(64) NOT NULL, event_id VARCHAR(64) NOT NULL, payload_hash CHAR(64) NOT NULL, result_code VARCHAR(32), PRIMARY KEY(consumer_name,event_id));
