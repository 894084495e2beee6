package storage_test

import (
	"errors"
	"math"
	"testing"

	"github.com/relplan/relplan/capacity/storage"
)

// sampleInputs has an input for every engine.
func sampleInputs(rows int64) []storage.Input {
	table := func(types ...string) *storage.Table {
		t := &storage.Table{Name: "t", Columns: []storage.Column{{Name: "id", Type: types[0], Args: []int{16}, Mean: 16, NotNull: true}, {Name: "note", Type: types[1], Mean: 40, Null: 0.1}},
			Indexes: []storage.Index{{Name: "primary key", Columns: []string{"id"}, Primary: true, Unique: true}, {Name: "t_note", Columns: []string{"note"}}}}
		if types[0] != "binary" {
			t.Columns[0].Args = nil
		}
		return t
	}
	order := storage.Order{Kind: storage.Random}
	return []storage.Input{
		{Engine: storage.Postgres, Rows: rows, Table: table("uuid", "text"), Order: order},
		{Engine: storage.InnoDB, Rows: rows, Table: table("binary", "text"), Order: order},
		{Engine: storage.SQLite, Rows: rows, Table: table("blob", "text"), Order: order},
		{Engine: storage.Redis, Rows: rows, Redis: &storage.RedisOptions{Key: 36, Value: 32, TTL: true}},
		{Engine: storage.NATSStream, Rows: rows, NATS: &storage.NATSOptions{Subject: 20, Payload: 100}},
		{Engine: storage.NATSKV, Rows: rows, NATS: &storage.NATSOptions{Subject: 36, Payload: 100}},
		{Engine: storage.LSM, Rows: rows, LSM: &storage.LSMOptions{Key: 36, Value: 32}},
		{Engine: storage.Kafka, Rows: rows, Kafka: &storage.KafkaOptions{Key: 36, Value: 32, RatioLow: 0.4, RatioHigh: 0.6}},
		{Engine: storage.Archive, Rows: rows, Table: table("uuid", "text"), Order: order},
	}
}

// Every number of a computation has its source beside it, in every engine and
// under every deletion.
func TestEveryTermHasItsSource(t *testing.T) {
	for _, in := range sampleInputs(50_000) {
		for _, kind := range []storage.DeleteKind{storage.DeleteNever, storage.DeletePartition, storage.DeleteSweep, storage.DeleteExpire} {
			life := storage.Life{Delete: kind, Partitions: 4, Updates: 1}
			s, err := storage.Plateau(in, life)
			if err != nil {
				t.Fatalf("%s: %v", in.Engine, err)
			}
			f, err := storage.LogFlow(in, life)
			if err != nil {
				t.Fatalf("%s: %v", in.Engine, err)
			}
			if len(s.Terms) == 0 {
				t.Errorf("%s: no terms", in.Engine)
			}
			for _, term := range append(s.Terms, f.Terms...) {
				if term.Source == "" || term.Name == "" || math.IsNaN(term.Value) || math.IsInf(term.Value, 0) {
					t.Errorf("%s: term %+v", in.Engine, term)
				}
			}
		}
	}
}

// What rests on measured ratios alone is told as a range.
func TestMeasuredEnginesAreRanges(t *testing.T) {
	for _, in := range sampleInputs(1_000_000) {
		s, err := storage.Estimate(in)
		if err != nil {
			t.Fatal(err)
		}
		switch in.Engine {
		case storage.LSM, storage.Kafka, storage.Archive:
			if s.High-s.Low < s.Total/50 || len(s.Notes) == 0 {
				t.Errorf("%s: %d..%d of %d, notes %q", in.Engine, s.Low, s.High, s.Total, s.Notes)
			}
		}
	}
}

// As many rows as are taken at all give a size that fits, or a refusal; never a
// number that was cut off.
func TestHugeNumbersOfRows(t *testing.T) {
	for _, in := range sampleInputs(1 << 50) {
		s, err := storage.Estimate(in)
		if err != nil {
			if !errors.Is(err, storage.ErrTooLarge) {
				t.Errorf("%s: %v", in.Engine, err)
			}
			continue
		}
		small := in
		small.Rows = 1 << 30
		o, err := storage.Estimate(small)
		if err != nil {
			t.Fatal(err)
		}
		if r := s.BytesPerRow() / o.BytesPerRow(); r < 0.8 || r > 1.2 || s.High < s.Total || s.Low > s.Total {
			t.Errorf("%s: %.1f B a row of 2^50 rows, %.1f of 2^30: %+v", in.Engine, s.BytesPerRow(), o.BytesPerRow(), s.Total)
		}
	}
	huge := storage.Input{Engine: storage.Kafka, Rows: 1 << 50, Kafka: &storage.KafkaOptions{Value: 1 << 20}}
	if _, err := storage.Estimate(huge); !errors.Is(err, storage.ErrTooLarge) {
		t.Errorf("2^50 rows of a mebibyte: %v", err)
	}
}

// Partitions longer than the window hold the window and one partition.
func TestPartitionLongerThanTheWindow(t *testing.T) {
	in := sampleInputs(90_000)[0]
	s, err := storage.Plateau(in, storage.Life{Delete: storage.DeletePartition, Partitions: 1, PartitionShare: 200.0 / 90})
	if err != nil || s.Rows != 90_000 || s.Held != 290_000 {
		t.Errorf("%d rows, %d held, %v; want 290,000 held", s.Rows, s.Held, err)
	}
	in.Rows = 290_000
	want, err := storage.Estimate(in)
	if err != nil || math.Abs(float64(s.Total)/float64(want.Total)-1) > 0.03 {
		t.Errorf("%d bytes, want about those of 290,000 rows: %d, %v", s.Total, want.Total, err)
	}
	if _, err := storage.Plateau(in, storage.Life{Delete: storage.DeletePartition, Partitions: storage.MaxPartitions + 1}); err == nil {
		t.Error("more partitions than are sized, and no error")
	}
}
