CREATE TABLE t (id uuid PRIMARY KEY, aggregate_type varchar(64) NOT NULL, aggregate_id varchar(64) NOT NULL, type varchar(64) NOT NULL, payload json NOT NULL, state varchar(16) NOT NULL, claim_id uuid, claim_version int NOT NULL, lease_until timestamptz, created_at timestamptz NOT NULL);
CREATE INDEX ON t(state,lease_until);
