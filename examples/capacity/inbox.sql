CREATE TABLE inbox (
  consumer_name varchar(64) NOT NULL,
  event_id      varchar(64) NOT NULL,
  payload_hash  char(64)    NOT NULL,
  result_code   varchar(32),
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (consumer_name, event_id)
);
CREATE INDEX inbox_created ON inbox (created_at);
