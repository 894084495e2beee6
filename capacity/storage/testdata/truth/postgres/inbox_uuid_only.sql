CREATE TABLE t (event_id uuid PRIMARY KEY);
