// Package storage computes the bytes a table, key space, stream or archive
// really takes in an engine, from the engine's storage format: row and index
// tuple layout, page capacity, leaf fill as a function of the arrival order of
// keys, allocator size classes, segment and file steps.
//
// Nothing here is a rule of thumb: a term is either computed from the format, or
// simulated by replaying the engine's page split rules, or a ratio measured on a
// named engine and then marked as a range. Every estimate lists its terms with
// their sources.
//
// Sizes are bytes. Rows are whole rows. "Loaded" means as inserted, "Rebuilt"
// means after VACUUM (SQLite), REINDEX (PostgreSQL) or OPTIMIZE TABLE (InnoDB).
package storage

import (
	"fmt"
	"math"
	"slices"
)

// Engine names a storage engine.
type Engine string

// The engines this package knows.
const (
	Postgres   Engine = "postgres"
	InnoDB     Engine = "innodb"
	SQLite     Engine = "sqlite"
	Redis      Engine = "redis"
	NATSStream Engine = "nats-stream"
	NATSKV     Engine = "nats-kv"
	LSM        Engine = "lsm"
	Kafka      Engine = "kafka"
	Archive    Engine = "archive"
)

// Engines lists every engine, in the order of the documentation.
func Engines() []Engine {
	return []Engine{Postgres, InnoDB, SQLite, Redis, NATSStream, NATSKV, LSM, Kafka, Archive}
}

// Relational says whether the engine stores tables described by CREATE TABLE.
func (e Engine) Relational() bool { return e == Postgres || e == InnoDB || e == SQLite }

// State is the moment at which a size is asked for.
type State uint8

const (
	// Loaded: rows inserted in arrival order, nothing deleted.
	Loaded State = iota
	// Vacuumed: PostgreSQL after the first VACUUM (adds the visibility map); the
	// same as Loaded for the others.
	Vacuumed
	// Rebuilt: VACUUM (SQLite), OPTIMIZE TABLE (InnoDB), REINDEX + VACUUM
	// (PostgreSQL).
	Rebuilt
)

// Column is one column of a table.
type Column struct {
	Name string
	// Type is the declared type in lower case without arguments: "varchar",
	// "timestamp with time zone".
	Type string
	// Args are the numbers in parentheses after the type.
	Args []int
	// Values of an ENUM or SET; the storage depends on how many there are.
	Values int
	// Charset of the column, "" for the default of the table.
	Charset string
	NotNull bool
	// Mean is the mean length in bytes of a value of a variable-length type;
	// 0 = not given.
	Mean float64
	// SD is the standard deviation of that length; 0 = all values have the mean
	// length (mixed from the two neighbouring whole numbers).
	SD float64
	// Null is the share of rows in which the column is NULL, 0..1.
	Null float64
	// Distinct is the number of distinct values; 0 = as many as rows.
	Distinct float64
	// Order is the arrival order of the values, nil = not given.
	Order *Order
}

// Index is one index of a table, the primary key included.
type Index struct {
	Name    string
	Columns []string
	Primary bool
	Unique  bool
	// FillFactor in percent, 0 = the default of the engine (PostgreSQL only).
	FillFactor int
	// Order overrides the order derived from the columns.
	Order *Order
}

// Table is a table with its indexes, as read from CREATE TABLE or a plan.
type Table struct {
	Name    string
	Columns []Column
	// Indexes includes the primary key, if there is one.
	Indexes []Index
	// FillFactor of the heap in percent (PostgreSQL), 0 = 100.
	FillFactor int
	// RowFormat is "dynamic" or "compressed" (InnoDB), "" = dynamic.
	RowFormat string
	// KeyBlockSize in KiB for COMPRESSED, 0 = 8.
	KeyBlockSize int
	// WithoutRowid is SQLite's WITHOUT ROWID.
	WithoutRowid bool
	// Charset is the default character set (InnoDB), "" = utf8mb4.
	Charset string
	// Partitions is the number of equal partitions, 0 or 1 = not partitioned.
	Partitions int
}

// Column returns the column called name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// Primary returns the primary key, or nil.
func (t *Table) Primary() *Index {
	for i := range t.Indexes {
		if t.Indexes[i].Primary {
			return &t.Indexes[i]
		}
	}
	return nil
}

// Term is one number of a computation, with where it comes from.
type Term struct {
	Name   string
	Value  float64
	Unit   string
	Source string
}

// Part is the table itself or one of its indexes.
type Part struct {
	Name string
	// Index says that it is a secondary structure (counted in Size.Index).
	Index bool
	Bytes int64
	// Leaves is the number of leaf (or heap) pages; 0 where there are none.
	Leaves int64
	// ItemsPerLeaf is the mean number of rows in a leaf.
	ItemsPerLeaf float64
	// Fill is the mean share of the usable bytes of a leaf that is used, 0..1.
	Fill float64
}

// Basis says how a size was obtained.
type Basis string

const (
	// Arithmetic: closed form from the storage format.
	Arithmetic Basis = "arithmetic"
	// Simulated: a term comes from replaying or recurring page splits.
	Simulated Basis = "simulated"
	// Measured: a term is a ratio measured on the engine; the range is its
	// spread.
	Measured Basis = "measured"
)

// Size is an estimate.
type Size struct {
	Engine Engine
	// Rows of the window; Held is how many there are at most, with those that
	// deletion has not removed yet.
	Rows, Held int64
	// Table and Index are bytes of the table proper and of its indexes, all
	// pages included; Total is the file, or the memory for Redis, and may be
	// more than their sum.
	Table, Index, Total int64
	// Low and High bound the total; equal to Total when the closed form is
	// exact.
	Low, High int64
	Basis     Basis
	Parts     []Part
	Terms     []Term
	// Notes are assumptions and limits to tell the reader.
	Notes []string
}

// BytesPerRow is Total / Rows.
func (s Size) BytesPerRow() float64 {
	if s.Rows == 0 {
		return 0
	}
	return float64(s.Total) / float64(s.Rows)
}

// term appends a term.
func (s *Size) term(name string, value float64, unit, source string) {
	s.Terms = append(s.Terms, Term{Name: name, Value: value, Unit: unit, Source: source})
}

// spread sets Low and High to Total x (1 -/+ ratio), keeping a wider range.
func (s *Size) spread(low, high float64) {
	l := int64(math.Floor(float64(s.Total) * (1 - low)))
	h := int64(math.Ceil(float64(s.Total) * (1 + high)))
	if s.Low == 0 || l < s.Low {
		s.Low = l
	}
	s.High = max(s.High, h)
}

// Input is what Estimate needs.
type Input struct {
	Engine Engine
	Rows   int64
	// Table for the relational engines.
	Table *Table
	// Order is the arrival order of primary keys, overridden by Index.Order.
	Order Order
	State State
	// PageSize in bytes, 0 = the engine's default (SQLite 4096, InnoDB 16384).
	PageSize int
	// Options of the other engines; nil = their defaults.
	Redis   *RedisOptions
	NATS    *NATSOptions
	LSM     *LSMOptions
	Kafka   *KafkaOptions
	Archive *ArchiveOptions
}

// maxMean bounds the length of one value, in bytes: longer ones belong into a
// store of files, and the replay of page splits would not end.
const maxMean = 1 << 20

// Estimate returns the size of Rows rows in the engine.
//
// Errors name the column or option at fault: an unknown type, a missing mean
// length, rows below zero.
func Estimate(in Input) (Size, error) {
	if in.Rows < 0 {
		return Size{}, fmt.Errorf("rows: %d is below zero", in.Rows)
	}
	if in.Rows > 1<<50 {
		return Size{}, fmt.Errorf("rows: %d is more than 2^50", in.Rows)
	}
	if in.Engine.Relational() && in.Table == nil {
		return Size{}, fmt.Errorf("engine %s needs a table: columns or a CREATE TABLE file", in.Engine)
	}
	if in.Table != nil {
		for _, c := range in.Table.Columns {
			if c.Mean > maxMean || slices.ContainsFunc(c.Args, func(n int) bool { return n > maxMean }) {
				return Size{}, fmt.Errorf("column %q: a value of more than %d bytes is not sized", c.Name, maxMean)
			}
		}
	}
	if err := boundBytes(in); err != nil {
		return Size{}, err
	}
	var s Size
	var err error
	switch in.Engine {
	case Postgres:
		s, err = estimatePostgres(in)
	case InnoDB:
		s, err = estimateInnoDB(in)
	case SQLite:
		s, err = estimateSQLite(in)
	case Redis:
		s, err = estimateRedis(in)
	case NATSStream, NATSKV:
		s, err = estimateNATS(in)
	case LSM:
		s, err = estimateLSM(in)
	case Kafka:
		s, err = estimateKafka(in)
	case Archive:
		s, err = estimateArchive(in)
	default:
		return Size{}, fmt.Errorf("unknown engine %q, known: %v", in.Engine, Engines())
	}
	if err != nil {
		return Size{}, err
	}
	s.Engine, s.Rows, s.Held = in.Engine, in.Rows, in.Rows
	if s.Low == 0 || s.Low > s.Total {
		s.Low = s.Total
	}
	s.High = max(s.High, s.Total)
	return s, nil
}
