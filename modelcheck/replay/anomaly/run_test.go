package anomaly

import (
	"context"
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
)

// TestRunSeesTheTruth plays small schedules whose outcome is certain, so that a
// driver that is wrong about commits, waits or values fails.
func TestRunSeesTheTruth(t *testing.T) {
	const head = "title: x\nasks: y\nsetup: create table t (k int primary key, v int)\nsetup: insert into t values (1, 10)\n"
	cases := []struct {
		name, text string
		want       map[engines.Kind]bool
	}{
		{"a commit is a commit", "A: begin\nA: update t set v = 11\nA: commit\nhappened: {A} = 1 and (select v from t) = 11",
			map[engines.Kind]bool{engines.SQLite: true, engines.Postgres: true, engines.MySQL: true}},
		{"a rollback is none", "A: begin\nA: update t set v = 11\nA: rollback\nhappened: {A} = 1 or (select v from t) = 11",
			map[engines.Kind]bool{engines.SQLite: false, engines.Postgres: false, engines.MySQL: false}},
		{"what stays open is rolled back", "A: begin\nA: update t set v = 11\nhappened: {A} = 1 or (select v from t) = 11",
			map[engines.Kind]bool{engines.SQLite: false, engines.Postgres: false, engines.MySQL: false}},
		{"postgres answers a doomed commit as if it were one", "A: begin\nA: try insert into t values (1, 0)\nA: commit\nhappened: {A} = 1",
			map[engines.Kind]bool{engines.SQLite: true, engines.Postgres: false, engines.MySQL: true}},
		{"a failed transaction is left", "A: begin\nA: insert into t values (1, 0)\nA: insert into t values (2, 0)\nA: commit\nhappened: {A} = 1 or (select count(*) from t) = 2",
			map[engines.Kind]bool{engines.SQLite: false, engines.Postgres: false, engines.MySQL: false}},
		{"what was read counts only with the commit", "A: begin\nA: x = select v from t\nA: rollback\nhappened: {x} = 10",
			map[engines.Kind]bool{engines.SQLite: false, engines.Postgres: false, engines.MySQL: false}},
		{"outside a transaction it counts", "A: x = select v from t\nB: n = update t set v = {x} + 1\nhappened: {x} = 10 and {n} = 1 and (select v from t) = 11",
			map[engines.Kind]bool{engines.SQLite: true, engines.Postgres: true, engines.MySQL: true}},
		{"a wait is seen, and what was missed is caught up", "A: begin\nA: update t set v = 11\nB: begin\nB: update t set v = 12\nB: commit\nA: commit\nhappened: {B.waited} = 1 and {A.waited} = 0 and {B} = 1 and (select v from t) = 12",
			map[engines.Kind]bool{engines.SQLite: true, engines.Postgres: true, engines.MySQL: true}},
		{"nobody waits for a reader's row", "A: begin\nA: x = select v from t\nA: commit\nB: begin\nB: update t set v = 12\nB: commit\nhappened: {B.waited} = 1 or {B.refused} = 1",
			map[engines.Kind]bool{engines.SQLite: false, engines.Postgres: false, engines.MySQL: false}},
	}
	for _, kind := range []engines.Kind{engines.SQLite, engines.Postgres, engines.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			err := onOwn(context.Background(), enginetest.Need(t, kind).DSN, ProfilesOf(kind)[1], func(db *engines.DB) error {
				for _, c := range cases {
					parsed, err := parseCase(c.name, head+c.text)
					if err != nil {
						return err
					}
					o, err := Run(context.Background(), db, ProfilesOf(kind)[1], parsed)
					if err != nil {
						return err
					}
					if o.Happened != c.want[kind] {
						t.Errorf("%s: got %v, want %v: %+v", c.name, o.Happened, c.want[kind], o.Results)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
