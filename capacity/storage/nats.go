package storage

import (
	"fmt"
	"math"
)

// NATSOptions describe a message of a JetStream stream or an entry of a KV
// bucket (file storage).
type NATSOptions struct {
	// Subject is the bytes of the subject of a stream, without prefix for KV:
	// there it is the key.
	Subject float64
	// Bucket is the length of the name of a KV bucket; 0 = 6.
	Bucket int
	// Payload bytes.
	Payload float64
	// MsgID is the length of Nats-Msg-Id; 0 = no such header.
	MsgID float64
	// Headers is the bytes of all other header lines, each with its CR LF.
	Headers float64
	// Subjects is the number of distinct subjects; 0 = one for a stream, one a
	// row for KV.
	Subjects int64
	// Put: KV entries were written by Put, without the header of Create.
	Put bool
	// Limited: MaxAge or MaxMsgs removes the oldest; whole blocks are freed.
	Limited bool
}

// JetStream file store constants (server/filestore.go).
const (
	natsRecord      = 30      // 22-byte header + 8-byte checksum
	natsHeaderLen   = 4       // length of the header block
	natsHeaderStart = 10 + 2  // "NATS/1.0\r\n" and the closing CR LF
	natsMsgIDLine   = 13 + 2  // "Nats-Msg-Id: " CR LF
	natsCreateLine  = 40      // "Nats-Expected-Last-Subject-Sequence: 0\r\n"
	natsBlock       = 8 << 20 // default block of a stream
	natsKVBlock     = 4 << 20
	natsFixed       = 620 // metadata and state files
	natsPerBlock    = 24
)

func estimateNATS(in Input) (Size, error) {
	o := NATSOptions{}
	if in.NATS != nil {
		o = *in.NATS
	}
	if !(o.Subject > 0) || o.Payload < 0 || o.MsgID < 0 || o.Headers < 0 {
		return Size{}, fmt.Errorf("%s needs the length of the subject or key in bytes, and of the payload", in.Engine)
	}
	s := Size{Basis: Arithmetic}
	subject, header := o.Subject, o.Headers
	subjects, block := float64(o.Subjects), float64(natsBlock)
	if o.MsgID > 0 {
		header += natsMsgIDLine + o.MsgID
	}
	if in.Engine == NATSKV {
		b := o.Bucket
		if b == 0 {
			b = 6
		}
		subject += float64(len("$KV.") + b + len("."))
		block = natsKVBlock
		if !o.Put {
			header += natsCreateLine
		}
		if subjects == 0 {
			subjects = float64(in.Rows)
		}
	} else if subjects == 0 {
		subjects = math.Min(1, float64(in.Rows))
	}
	if header > 0 {
		header += natsHeaderStart + natsHeaderLen
	}
	record := natsRecord + subject + o.Payload + header
	s.Table = int64(math.Round(record * float64(in.Rows)))
	blocks := math.Ceil(float64(s.Table) / block)
	s.Index = int64(math.Round(subjects*(subject+4) + natsFixed + natsPerBlock*blocks))
	if in.Rows == 0 {
		s.Index = natsFixed
	}
	s.Total = s.Table + s.Index
	s.term("record", record, "B", "22 header + 8 checksum + subject + payload + (4 + header block) (server/filestore.go)")
	s.term("subjects", subjects, "", "index.db keeps each distinct subject with 4 B")
	s.term("blocks", blocks, "", "24 B of state a block")
	if o.Limited {
		s.High = s.Total + int64(block)
		s.Notes = append(s.Notes, "MaxAge and MaxMsgs free whole blocks: up to one block more than the live messages")
	}
	if o.MsgID > 0 {
		s.Notes = append(s.Notes, "the duplicate window is memory on top: 125-144 B a message id inside the window (measured, server 2.15)")
	}
	return s, nil
}

// NATSDedupeMemory returns the server memory of the duplicate window of a
// stream: ids published within the window x 125 to 144 B. Measured on server
// 2.15 with 36-character ids.
func NATSDedupeMemory(ids float64) (low, high float64) { return 125 * ids, 144 * ids }
