package storage

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooLarge is returned (wrapped) when a size does not fit in 2^63 bytes.
var ErrTooLarge = errors.New("more than 9.2 EB (2^63 bytes) are not sized")

// maxEntry bounds the parts of an entry of an engine without tables, in bytes:
// the longest value of Redis (proto-max-bulk-len), above the limits of the
// others.
const maxEntry = 512 << 20

// probeRows is how many rows are sized to see whether all of them fit.
const probeRows = 1 << 20

// boundBytes refuses lengths and numbers of rows whose bytes would not fit in an
// int64. A bound that is too high is decided by the size of probeRows rows.
func boundBytes(in Input) error {
	per := 0.0
	for _, l := range in.entryLengths() {
		if l.bytes > maxEntry {
			return fmt.Errorf("%s of %.0f bytes: more than %d bytes are not sized", l.name, l.bytes, maxEntry)
		}
		per += 8*l.bytes + 1024
	}
	if t := in.Table; t != nil {
		parts := float64(len(t.Columns) + len(t.Indexes) + 2)
		for _, c := range t.Columns {
			per += 4 * c.Mean * parts
			for _, n := range c.Args {
				per += 4 * float64(n) * parts
			}
		}
		per += innoPage * parts
	}
	if per*float64(in.Rows) < math.MaxInt64 || in.Rows <= probeRows {
		return nil
	}
	probe := in
	probe.Rows = probeRows
	s, err := Estimate(probe)
	if err != nil {
		return err
	}
	if float64(s.High)/probeRows*float64(in.Rows) > math.MaxInt64/2 {
		return fmt.Errorf("%d rows of about %d bytes: %w", in.Rows, s.Total/probeRows, ErrTooLarge)
	}
	return nil
}

type namedLength struct {
	name  string
	bytes float64
}

// entryLengths are the lengths of an entry of an engine without tables.
func (in Input) entryLengths() []namedLength {
	switch {
	case in.Engine == Redis && in.Redis != nil:
		return []namedLength{{"a key", in.Redis.Key}, {"a value", in.Redis.Value}}
	case (in.Engine == NATSStream || in.Engine == NATSKV) && in.NATS != nil:
		o := in.NATS
		return []namedLength{{"a subject", o.Subject}, {"a payload", o.Payload}, {"a message id", o.MsgID}, {"headers", o.Headers}}
	case in.Engine == LSM && in.LSM != nil:
		return []namedLength{{"a key", in.LSM.Key}, {"a value", in.LSM.Value}}
	case in.Engine == Kafka && in.Kafka != nil:
		return []namedLength{{"a key", in.Kafka.Key}, {"a value", in.Kafka.Value}, {"headers", in.Kafka.Headers}}
	}
	return nil
}
