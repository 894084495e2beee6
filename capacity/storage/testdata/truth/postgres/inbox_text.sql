CREATE TABLE t (consumer_name varchar(64) NOT NULL, event_id varchar(64) NOT NULL, payload_hash char(64) NOT NULL, result_code varchar(32), PRIMARY KEY(consumer_name,event_id));
