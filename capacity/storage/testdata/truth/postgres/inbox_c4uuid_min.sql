CREATE TABLE t (event_id uuid NOT NULL, consumer_id int NOT NULL, result_code smallint NOT NULL, PRIMARY KEY(consumer_id,event_id));
