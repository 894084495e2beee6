CREATE TABLE t (consumer_name varchar(64) NOT NULL, event_id uuid NOT NULL, payload_hash bytea NOT NULL, result_code varchar(32), PRIMARY KEY(consumer_name,event_id));
