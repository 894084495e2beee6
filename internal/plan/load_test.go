package plan

import (
	"strings"
	"testing"
	"time"
)

const good = `relplan: v1
plan: order-chain
workloads:
  payments: {rate: {peak: 100k/s, mean: 60k/s}, record: 100B, duplicates: 0.1%, growth: 20%/year}
stores:
  inbox:
    engine: innodb
    holds: payments
    dedupes: payments
    columns: [{name: id, type: binary(16)}, {name: hash, type: varchar(64), mean: 64B, null: 0%}]
    keys: {primary: [id], indexes: [[hash, id]]}
    key_order: uuid7:100
    retain: 7d
    delete: {partition: 1d}
    replicas: 2
replay_sources:
  manual-reissue: {of: payments, keeps: 90d}
  provider-keys: {of: payments, keeps: 24h, retried_for: 3d, kind: provider}
calls:
  gateway: {calls: [{to: orders, attempts: 2, per_try: 2s, backoff: {base: 25ms, factor: 2, max: 250ms, jitter: full}, method: POST, key: reused}]}
  orders: {calls: [{to: bank, from: {file: vs.yaml, hop: "pay/bank#0"}}]}
  bank: {servers: 20, service: {mean: 40ms}, queue: 500}
deadlines:
  checkout: {path: [gateway, orders, bank], budget: 300ms, spent: 150ms, backoff: 80ms, attempt: 150ms}
protocols:
  inbox: {spec: inbox.yaml}
  setnx: {pattern: setnx-before-write, with: {workers: 2}}
unknown_exposure: {payments: {probability: 0.01%, amount: 40 EUR, reconcile_every: 1h}}
policies: {max_attempts: 10, windows: covered, deadlines: admitted, protocols: as_expected, max_total_bytes: 500TB, max_unknown: 1000}
`

func TestLoadReadsEverySection(t *testing.T) {
	f, err := Load("relplan.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Workloads[0].Rate.Mean.V.PerSecond(); got != 60_000 {
		t.Errorf("mean rate %v", got)
	}
	s := f.Stores[0]
	if s.Retain.V != 7*24*time.Hour || s.Delete.Partition.V != 24*time.Hour || s.Indexes[0][1] != "id" || s.Columns[1].Mean.V != 64 {
		t.Errorf("store %+v", s)
	}
	if f.Sources[1].RetriedFor.V != 72*time.Hour || f.Nodes[1].Calls[0].From.Hop.V != "pay/bank#0" || f.Protocols[1].With["workers"].V != "2" {
		t.Error("sources, calls or protocols are not as written")
	}
	if f.Unknown[0].Currency != "EUR" || f.Policies.MaxTotalBytes.V != 500e12 || f.Deadlines[0].Path[2].V != "bank" {
		t.Error("exposure, policies or deadlines are not as written")
	}
}

func TestLoadReportsAllMistakesAtOnce(t *testing.T) {
	bad := strings.NewReplacer(
		"engine: innodb", "engine: inodb",
		"holds: payments", "holds: paymants",
		"retain: 7d", "retain: 7",
		"attempts: 2,", "attemps: 2,",
		"jitter: full", "jitter: fully",
		"probability: 0.01%", "probability: 20",
		"rate: {peak", "rat: {peak",
		"{spec: inbox.yaml}", "{}",
	).Replace(good)
	_, err := Load("relplan.yaml", []byte(bad))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"relplan.yaml:4:14: unknown key 'rat'", "a workload needs the key 'rate'",
		"relplan.yaml:7:13: expected one of postgres, innodb", "workload 'paymants' is not defined",
		"relplan.yaml:13:13: expected a duration such as 300ms, 1h30m or 7d, found '7'",
		"unknown key 'attemps'", "expected one of none, full, equal, decorrelated, spread, found 'fully'",
		"expected a share such as 0.1% or 0.001, found '20'",
		"protocol 'inbox' needs spec (a file) or pattern (of the library), one of them",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in\n%v", want, err)
		}
	}
}

func TestLoadRefusesOtherFiles(t *testing.T) {
	for src, want := range map[string]string{
		"":                                  "the file is empty",
		"relplan: v1\nsystem: x\n":          "expected a plan, found a spec",
		"relplan: v1\nstatements: []\n":     "expected a plan, found a statements file",
		"kind: Service\n":                   "expected a plan, found no relplan file",
		"relplan: v2\nplan: x\n":            "expected version v1, found 'v2'",
		"relplan: v1\nplan: x\n---\na: 1\n": "a plan is one document",
		"- a\n":                             "expected a plan",
	} {
		if _, err := Load("f.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("relplan: v1\nplan: x\nworkloads: [1]\nstores: {a: 1}\ncalls: {a: {calls: {}}}\npolicies: 5\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Load("f.yaml", src)
		if (file == nil) == (err == nil) && err == nil {
			t.Fatal("neither a plan nor an error")
		}
	})
}
