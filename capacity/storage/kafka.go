package storage

import (
	"fmt"
	"math"
)

// KafkaOptions describe a record of a Kafka topic.
type KafkaOptions struct {
	Key, Value float64
	// Headers is the bytes of header names and values, HeaderCount their number.
	Headers     float64
	HeaderCount int
	// Batch is the mean number of records in a batch; 0 = 100.
	Batch float64
	// Ratio is stored / uncompressed bytes of a batch, low to high; zeros = not
	// compressed.
	RatioLow, RatioHigh float64
	Partitions          int64
	// SegmentBytes of a log segment; 0 = 1 GiB.
	SegmentBytes float64
}

// Kafka constants (record batch format v2; log configuration defaults).
const (
	kafkaBatchHeader   = 61
	kafkaIndexInterval = 4096
	kafkaIndexEntry    = 8 + 12 // offset index + time index
	kafkaSegment       = 1 << 30
)

// signedVarint is the length of a zig-zag varint of about n.
func signedVarint(n float64) float64 { return float64(varint(uint64(2 * math.Max(0, n)))) }

func estimateKafka(in Input) (Size, error) {
	o := KafkaOptions{}
	if in.Kafka != nil {
		o = *in.Kafka
	}
	if o.Batch == 0 {
		o.Batch = 100
	}
	if o.RatioLow == 0 && o.RatioHigh == 0 {
		o.RatioLow, o.RatioHigh = 1, 1
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = kafkaSegment
	}
	if o.Key < 0 || o.Value < 0 || o.Batch < 1 || o.RatioLow <= 0 || o.RatioHigh < o.RatioLow {
		return Size{}, fmt.Errorf("kafka needs lengths of key and value, at least one record a batch and a ratio low to high above 0")
	}
	body := 1 + signedVarint(1000) + signedVarint(o.Batch/2) + signedVarint(o.Key) + o.Key + signedVarint(o.Value) + o.Value +
		signedVarint(float64(o.HeaderCount)) + o.Headers + 2*float64(o.HeaderCount)
	record := signedVarint(body) + body
	head := kafkaBatchHeader / o.Batch
	s := Size{Basis: Arithmetic}
	n := float64(in.Rows)
	size := func(ratio float64) float64 {
		per := record*ratio + head
		return n * per * (1 + kafkaIndexEntry/float64(kafkaIndexInterval))
	}
	low, high := size(o.RatioLow), size(o.RatioHigh)
	parts := float64(max(1, o.Partitions))
	over := math.Min(parts*o.SegmentBytes, high) // retention deletes whole segments
	s.Table = int64((low + high) / 2)
	s.Total = s.Table
	s.Low, s.High = int64(low), int64(high+over)
	s.term("record", record, "B", "record batch format v2: varint lengths, timestamp and offset deltas, key, value, headers")
	s.term("batch header a record", head, "B", "61 B / records a batch")
	s.term("index files", kafkaIndexEntry/float64(kafkaIndexInterval), "share", "8 + 12 B each 4,096 B of log (log.index.interval.bytes)")
	s.term("retention overshoot", over, "B", "retention deletes whole segments: up to one a partition more")
	s.Notes = append(s.Notes, "Kafka: from the record format, measured nowhere; one copy, multiply by the replication factor")
	return s, nil
}
