package storage

import (
	"fmt"
	"math"
	"strings"
)

// ArchiveOptions describe an archive file of rows.
type ArchiveOptions struct {
	// Format is "csv", "jsonl", "binary" or "parquet" (binary columns).
	Format string
	// Codec is "none", "gzip", "zstd", "snappy" or "lz4"; "" = zstd.
	Codec string
	// Fields of a row.
	Fields []ArchiveField
}

// ArchiveField is one field of an archived row.
type ArchiveField struct {
	Name string
	// Text is its length as text, Binary its length in binary.
	Text, Binary float64
	// Entropy is the bytes of information in a value; below it no codec goes.
	Entropy float64
	// Quoted: the value is a JSON string.
	Quoted bool
}

// archiveRatio bounds compressed size / entropy, measured on 200,000 inbox rows
// with random ids and hashes (parquet-go 0.32, zlib, zstd, lz4).
var archiveRatio = map[string]struct{ low, high float64 }{
	"csv+gzip": {1.30, 1.45}, "csv+zstd": {1.20, 1.35}, "csv+snappy": {1.9, 2.4}, "csv+lz4": {2.0, 2.35},
	"jsonl+gzip": {1.34, 1.70}, "jsonl+zstd": {1.24, 1.55}, "jsonl+snappy": {2.0, 2.6}, "jsonl+lz4": {2.1, 2.75},
	"binary+gzip": {1.03, 1.12}, "binary+zstd": {1.02, 1.10}, "binary+snappy": {1.08, 1.2}, "binary+lz4": {1.08, 1.2},
	"parquet+gzip": {1.01, 1.06}, "parquet+zstd": {1.01, 1.06}, "parquet+snappy": {1.01, 1.08}, "parquet+lz4": {1.01, 1.08},
	"parquet+none": {1.01, 1.10},
}

func estimateArchive(in Input) (Size, error) {
	o := ArchiveOptions{}
	if in.Archive != nil {
		o = *in.Archive
	}
	if o.Format == "" {
		o.Format = "jsonl"
	}
	if o.Codec == "" {
		o.Codec = "zstd"
	}
	if len(o.Fields) == 0 {
		if in.Table == nil {
			return Size{}, fmt.Errorf("archive needs fields or a table")
		}
		f, err := ArchiveFields(in.Table, in.Order, in.Rows)
		if err != nil {
			return Size{}, err
		}
		o.Fields = f
	}
	raw, entropy := 0.0, 0.0
	for _, f := range o.Fields {
		entropy += f.Entropy
		switch o.Format {
		case "csv":
			raw += f.Text + 1
		case "jsonl":
			raw += f.Text + float64(len(f.Name)) + 4
			if f.Quoted {
				raw += 2
			}
		case "binary", "parquet":
			raw += f.Binary
		default:
			return Size{}, fmt.Errorf("archive format %q, known: csv, jsonl, binary, parquet", o.Format)
		}
	}
	if o.Format == "jsonl" {
		raw += 2 // braces; the last comma is the newline
	}
	return archiveSize(in, o, raw, entropy)
}

func archiveSize(in Input, o ArchiveOptions, raw, entropy float64) (Size, error) {
	s := Size{Basis: Measured}
	n := float64(in.Rows)
	s.term("raw", raw, "B/row", "text or binary lengths with separators")
	s.term("entropy", entropy, "B/row", "information in the values: random bits / 8; no codec goes below")
	if o.Codec == "none" && o.Format != "parquet" {
		s.Basis = Arithmetic
		s.Table = int64(math.Round(n * raw))
		s.Total = s.Table
		s.spread(0.05, 0.05)
		s.Notes = append(s.Notes, "archive: numbers and times as text are taken as 6 and 26 characters")
		return s, nil
	}
	ratio, ok := archiveRatio[o.Format+"+"+o.Codec]
	if !ok {
		return Size{}, fmt.Errorf("archive codec %q, known: none, gzip, zstd, snappy, lz4", o.Codec)
	}
	per := func(k float64) float64 { return math.Min(raw*1.01, math.Max(entropy, k*entropy)) }
	s.Table = int64(math.Round(n * per((ratio.low+ratio.high)/2)))
	s.Total = s.Table
	s.Low, s.High = int64(n*per(ratio.low)), int64(n*per(ratio.high))+1
	s.term("compressed / entropy", (ratio.low+ratio.high)/2, "", fmt.Sprintf("%.2f to %.2f measured for %s with %s", ratio.low, ratio.high, o.Format, o.Codec))
	s.Notes = append(s.Notes, "archive: planned from the entropy of the values, with ratios measured on inbox rows")
	return s, nil
}

// ArchiveFields derives fields from the columns of a table: random identifiers
// and hashes are taken as incompressible, times as 2.5 B, values with few
// distinct ones as log2 of their number.
func ArchiveFields(t *Table, o Order, rows int64) ([]ArchiveField, error) {
	var out []ArchiveField
	for _, c := range t.Columns {
		f := ArchiveField{Name: c.Name, Text: c.Mean, Binary: c.Mean, Quoted: true}
		typ := c.Type
		switch {
		case typ == "uuid" || (typ == "binary" && len(c.Args) > 0 && c.Args[0] == 16):
			f.Text, f.Binary, f.Entropy = 36, 16, 122.0/8
		case temporal(typ):
			f.Text, f.Binary, f.Entropy = 26, 8, 2.5
		case strings.Contains(typ, "int") || strings.Contains(typ, "serial"):
			f.Text, f.Binary, f.Entropy, f.Quoted = 6, 8, 2, false
		case strings.Contains(typ, "bool"):
			f.Text, f.Binary, f.Entropy, f.Quoted = 5, 1, 0.1, false
		case (typ == "char" || typ == "binary" || typ == "character") && c.Mean == 0 && len(c.Args) > 0:
			f.Text, f.Binary = float64(c.Args[0]), float64(c.Args[0])
			f.Entropy = f.Binary / 2
		case c.Mean == 0 && c.Null < 1:
			return nil, &MissingMeanError{Column: c.Name, Type: typ}
		case c.Mean == 36 && strings.Contains(c.Name, "id"): // a uuid as text
			f.Binary, f.Entropy = 16, 122.0/8
		case strings.Contains(typ, "char") || strings.Contains(typ, "text") || strings.Contains(typ, "json"):
			f.Entropy = c.Mean / 2
			if strings.Contains(c.Name, "hash") {
				f.Binary = c.Mean / 2
			}
		default:
			f.Entropy = c.Mean
		}
		if c.Distinct > 0 && c.Distinct < float64(rows) {
			f.Entropy = math.Min(f.Entropy, math.Log2(c.Distinct+1)/8)
		}
		keep := 1 - c.Null
		f.Text, f.Binary, f.Entropy = f.Text*keep, f.Binary*keep, f.Entropy*keep
		out = append(out, f)
	}
	return out, nil
}
