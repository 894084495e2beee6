package plan

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
)

// StoreOptions are what the size of a store depends on beyond its columns. Each
// engine reads its own.
type StoreOptions struct {
	Table             Value[string]  // table of a DDL file with several
	PageSize          Value[int64]   // sqlite
	RowsPerCommit     Value[int64]   // log volume
	RowsPerCheckpoint Value[int64]   // postgres
	WALCompression    Value[string]  // postgres: off, lz4, zstd
	Updates           Value[float64] // updates in the life of a row
	UpdatesIndexed    bool           // they change an indexed column
	Structure         Value[string]  // redis
	Per               Value[int64]   // redis: members in one collection
	Allocator         Value[string]  // redis: bundled, system
	Bucket            Value[string]  // nats-kv
	Subjects          Value[int64]   // nats-stream
	Prefix            Value[int64]   // lsm: bytes that start every key
	Hex               bool           // lsm: keys are hexadecimal text
	Compression       Value[string]  // lsm: none, snappy, zstd
	Batch             Value[int64]   // kafka: records a batch
	Ratio             [2]float64     // kafka: stored / sent bytes, low and high
	Partitions        Value[int64]   // kafka
	Segment           Value[int64]   // kafka
	Format, Codec     Value[string]  // archive
	Disk              Value[int64]   // bytes of the disk
	Headroom          Value[float64] // share of the disk that stays free
}

func (d *decoder) storeOptions(o *StoreOptions) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		d.mapping(n, "store options",
			optional("table", d.text(&o.Table)),
			optional("page_size", d.bytes(&o.PageSize)),
			optional("rows_per_commit", d.count(&o.RowsPerCommit, 1)),
			optional("rows_per_checkpoint", d.count(&o.RowsPerCheckpoint, 1)),
			optional("wal_compression", d.oneOf(&o.WALCompression, "off", "lz4", "zstd")),
			optional("updates", d.number(&o.Updates, 0)),
			optional("updates_indexed", d.flag(&o.UpdatesIndexed)),
			optional("structure", d.oneOf(&o.Structure, "string", "hash", "set", "zset", "stream")),
			optional("per", d.count(&o.Per, 1)),
			optional("allocator", d.oneOf(&o.Allocator, "bundled", "system")),
			optional("bucket", d.text(&o.Bucket)),
			optional("subjects", d.count(&o.Subjects, 1)),
			optional("prefix", d.bytes(&o.Prefix)),
			optional("hex", d.flag(&o.Hex)),
			optional("compression", d.oneOf(&o.Compression, "none", "snappy", "zstd")),
			optional("batch", d.count(&o.Batch, 1)),
			optional("ratio", d.ratioRange(&o.Ratio)),
			optional("partitions", d.count(&o.Partitions, 1)),
			optional("segment", d.bytes(&o.Segment)),
			optional("format", d.oneOf(&o.Format, "csv", "jsonl", "binary", "parquet")),
			optional("codec", d.oneOf(&o.Codec, "none", "gzip", "zstd", "snappy", "lz4")),
			optional("disk", d.bytes(&o.Disk)),
			optional("headroom", parsed(d, &o.Headroom, ParseHeadroom)),
		)
	}
}

// SetOption sets one option from "key=value", with the words and units of a plan
// file.
func (o *StoreOptions) SetOption(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("expected option=value, found %q", text)
	}
	var l diag.List
	docs := yamlx.Parse("<option>", []byte(key+": "+value), yamlx.Limits{}, &l)
	if len(docs) == 1 && !l.HasErrors() {
		d := &decoder{l: &l}
		d.storeOptions(o)(docs[0])
	}
	if ds := l.Sorted(); len(ds) > 0 {
		msg := ds[0].Text()
		if ds[0].Hint != "" {
			msg += "; " + ds[0].Hint
		}
		return fmt.Errorf("option %s: %s", key, msg)
	}
	return nil
}

// ratioRange reads [40%, 60%] or one share.
func (d *decoder) ratioRange(out *[2]float64) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		var v [2]Value[float64]
		d.describe(&shape{text: "a list of two shares, the low and the high one"})
		if n.Kind() == yamlx.Scalar {
			d.ratio(&v[0])(n)
			v[1] = v[0]
		} else if items := n.Items(); len(items) == 2 {
			d.ratio(&v[0])(items[0])
			d.ratio(&v[1])(items[1])
		} else {
			d.want(n, "a share such as 50%, or two such as [40%, 60%]")
			return
		}
		if v[0].Set && v[1].Set && (v[0].V <= 0 || v[1].V < v[0].V) {
			d.want(n, "shares above 0%, the lower one first")
			return
		}
		out[0], out[1] = v[0].V, v[1].V
	}
}

// order reads a key order.
func parseOrder(s string) (string, error) {
	if _, err := storage.ParseOrder(s); err != nil {
		return "", &quantity.SyntaxError{Text: s, Expected: "increasing, uuid4, uuid7:J (J unordered ids in flight), streams:K, or two such as streams:8,uuid4"}
	}
	return s, nil
}
