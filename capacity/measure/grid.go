package measure

import (
	"fmt"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
	"github.com/relplan/relplan/internal/diag"
)

// gridTable is a schema of the accuracy grid in three dialects. None of them is
// among the schemas the formulas were developed on.
type gridTable struct {
	name   string
	texts  map[storage.Engine]string
	facts  []storage.Column // lengths, NULLs, distinct values
	orders []string
	share  float64 // of the rows to load; 0 = all
}

var gridTables = []gridTable{
	{
		name: "ledger",
		texts: map[storage.Engine]string{
			storage.Postgres: `CREATE TABLE ledger (account int NOT NULL, seq bigint NOT NULL, amount numeric(18,4) NOT NULL, currency char(3) NOT NULL,
  memo varchar(200), booked_at timestamptz NOT NULL, PRIMARY KEY (account, seq));
CREATE INDEX ledger_booked ON ledger (booked_at);`,
			storage.InnoDB: `CREATE TABLE ledger (account int NOT NULL, seq bigint NOT NULL, amount decimal(18,4) NOT NULL, currency char(3) CHARACTER SET ascii NOT NULL,
  memo varchar(200), booked_at datetime(6) NOT NULL, PRIMARY KEY (account, seq), KEY ledger_booked (booked_at)) ENGINE=InnoDB;`,
			storage.SQLite: `CREATE TABLE ledger (account text NOT NULL, seq text NOT NULL, amount text NOT NULL, currency char(3) NOT NULL,
  memo varchar(200), booked_at text NOT NULL, PRIMARY KEY (account, seq)) WITHOUT ROWID;`,
		},
		facts: []storage.Column{{Name: "account", Mean: 8}, {Name: "seq", Mean: 20}, {Name: "amount", Mean: 12}, {Name: "currency", Mean: 3, Distinct: 30},
			{Name: "memo", Mean: 40.5, SD: 12, Null: 0.2}, {Name: "booked_at", Mean: 26}},
		orders: []string{"streams:40", "streams:2000", "uuid4"},
	},
	{
		name: "webhook",
		texts: map[storage.Engine]string{
			storage.Postgres: `CREATE TABLE webhook (id uuid PRIMARY KEY, tenant int NOT NULL, status smallint NOT NULL, payload text NOT NULL, signature bytea,
  received_at timestamptz NOT NULL);
CREATE INDEX webhook_tenant ON webhook (tenant, received_at);`,
			storage.InnoDB: `CREATE TABLE webhook (id binary(16) NOT NULL PRIMARY KEY, tenant int NOT NULL, status smallint NOT NULL, payload text CHARACTER SET latin1 NOT NULL, signature varbinary(64),
  received_at timestamp(3) NOT NULL, KEY webhook_tenant (tenant, received_at)) ENGINE=InnoDB;`,
			storage.SQLite: `CREATE TABLE webhook (id blob PRIMARY KEY, tenant text NOT NULL, status text NOT NULL, payload text NOT NULL, signature blob,
  received_at text NOT NULL);
CREATE INDEX webhook_received ON webhook (received_at);`,
		},
		facts: []storage.Column{{Name: "id", Mean: 16}, {Name: "tenant", Mean: 6, Distinct: 300}, {Name: "status", Mean: 3, Distinct: 5}, {Name: "payload", Mean: 180, SD: 40},
			{Name: "signature", Mean: 32, Null: 0.5}, {Name: "received_at", Mean: 26, Order: &storage.Order{}}},
		orders: []string{"increasing", "uuid7:40", "uuid4"},
	},
	{
		name: "keys",
		texts: map[storage.Engine]string{
			storage.Postgres: `CREATE TABLE keys (scope varchar(40) NOT NULL, key varchar(80) NOT NULL, expires_at timestamp NOT NULL, PRIMARY KEY (scope, key));
CREATE INDEX keys_expires ON keys (expires_at);`,
			storage.InnoDB: "CREATE TABLE `keys` (scope varchar(40) NOT NULL, `key` varchar(80) NOT NULL, expires_at timestamp NOT NULL, PRIMARY KEY (scope, `key`), KEY keys_expires (expires_at)) ENGINE=InnoDB;",
			storage.SQLite: `CREATE TABLE keys (scope varchar(40) NOT NULL, key varchar(80) NOT NULL, expires_at text NOT NULL, PRIMARY KEY (scope, key));`,
		},
		facts:  []storage.Column{{Name: "scope", Mean: 9, Distinct: 1}, {Name: "key", Mean: 27}, {Name: "expires_at", Mean: 26, Distinct: 25, Order: &storage.Order{}}},
		orders: []string{"increasing", "uuid7:15", "uuid7:400", "uuid4"},
	},
	{
		name: "documents",
		texts: map[storage.Engine]string{
			storage.Postgres: `CREATE TABLE documents (id bigint PRIMARY KEY, title varchar(100) NOT NULL, body text NOT NULL, kind smallint NOT NULL);`,
			storage.InnoDB:   `CREATE TABLE documents (id bigint PRIMARY KEY, title varchar(100) NOT NULL, body mediumtext NOT NULL, kind smallint NOT NULL) ENGINE=InnoDB;`,
			storage.SQLite:   `CREATE TABLE documents (id integer PRIMARY KEY, title text NOT NULL, body text NOT NULL, kind text NOT NULL);`,
		},
		facts:  []storage.Column{{Name: "id", Mean: 8}, {Name: "title", Mean: 30}, {Name: "body", Mean: 5000}, {Name: "kind", Mean: 3}},
		orders: []string{"increasing"},
		share:  0.05,
	},
}

// Grid returns the cases of the accuracy grid for an engine: schemas that are not
// among those the formulas were developed on, in several key orders.
func Grid(engine storage.Engine, rows int64) ([]Case, error) {
	switch engine {
	case storage.Redis:
		return redisGrid(rows), nil
	case storage.NATSStream, storage.NATSKV:
		return natsGrid(rows), nil
	}
	dialect, ok := ddl.Of(engine)
	if !ok {
		return nil, fmt.Errorf("engine %s is not measured", engine)
	}
	var out []Case
	for _, g := range gridTables {
		for _, order := range g.orders {
			o, err := storage.ParseOrder(order)
			if err != nil {
				return nil, err
			}
			t, err := g.table(engine, dialect)
			if err != nil {
				return nil, err
			}
			n := rows
			if g.share > 0 {
				n = max(1, int64(float64(rows)*g.share))
			}
			out = append(out, Case{Name: g.name + " " + order, DDL: g.texts[engine],
				Input: storage.Input{Engine: engine, Rows: n, Table: t, Order: o}})
		}
	}
	return out, nil
}

func (g gridTable) table(engine storage.Engine, d ddl.Dialect) (*storage.Table, error) {
	var l diag.List
	tables := ddl.Parse(g.name+".sql", []byte(g.texts[engine]), d, &l)
	if err := l.Err(); err != nil {
		return nil, err
	}
	t := tables[0]
	for _, f := range g.facts {
		c := t.Column(f.Name)
		c.Mean, c.SD, c.Null, c.Distinct, c.Order = f.Mean, f.SD, f.Null, f.Distinct, f.Order
	}
	return t, nil
}

func redisGrid(rows int64) []Case {
	mk := func(name string, o storage.RedisOptions) Case {
		return Case{Name: name, Input: storage.Input{Engine: storage.Redis, Rows: rows, Redis: &o}}
	}
	return []Case{
		mk("string 44 B, value 12 B, TTL", storage.RedisOptions{Key: 44, Value: 12, TTL: true}),
		mk("string 28 B, value 210 B", storage.RedisOptions{Key: 28, Value: 210}),
		mk("hash of 300 fields, 24 + 8 B", storage.RedisOptions{Structure: "hash", Key: 24, Value: 8, Per: 300}),
		mk("hash of 1,000 fields, 24 + 80 B", storage.RedisOptions{Structure: "hash", Key: 24, Value: 80, Per: 1000}),
		mk("one set of 50 B members", storage.RedisOptions{Structure: "set", Key: 50}),
		mk("one sorted set of 26 B members", storage.RedisOptions{Structure: "zset", Key: 26}),
		mk("stream of 20 + 60 B", storage.RedisOptions{Structure: "stream", Key: 20, Value: 60}),
	}
}

func natsGrid(rows int64) []Case {
	return []Case{
		{Name: "stream, subject 12 B, payload 333 B", Input: storage.Input{Engine: storage.NATSStream, Rows: rows, NATS: &storage.NATSOptions{Subject: 12, Payload: 333}}},
		{Name: "stream, subject 25 B, payload 90 B, id 20 B", Input: storage.Input{Engine: storage.NATSStream, Rows: rows, NATS: &storage.NATSOptions{Subject: 25, Payload: 90, MsgID: 20}}},
		{Name: "KV, key 24 B, value 10 B", Input: storage.Input{Engine: storage.NATSKV, Rows: rows, NATS: &storage.NATSOptions{Subject: 24, Payload: 10}}},
	}
}
