CREATE TABLE t (event_id bigint NOT NULL, created_at timestamptz NOT NULL, consumer_id int NOT NULL, result_code smallint NOT NULL, payload_hash bytea NOT NULL, PRIMARY KEY(consumer_id,event_id));
CREATE INDEX ON t(created_at);
