package ddl

import (
	"fmt"

	"github.com/relplan/relplan/capacity/storage"
)

// options reads what follows the columns of a table.
func (p *parser) options(t *storage.Table) {
	for {
		at := p.tok()
		switch {
		case p.dialect == SQLite && p.accept("without", "rowid"):
			t.WithoutRowid = true
		case p.dialect == SQLite && p.accept("strict"):
		case p.dialect == SQLite && p.accept(","):
		case p.dialect == PostgreSQL && p.accept("with"):
			if f := p.storageParams(); f > 0 {
				t.FillFactor = f
			}
		case p.dialect == PostgreSQL && p.accept("tablespace"), p.dialect == PostgreSQL && p.accept("using"):
			p.name("a name")
		case p.dialect == PostgreSQL && p.is("inherits"):
			p.refuse(at, "inherited columns must stand in the statement", "write all columns")
		case p.accept("partition", "by"):
			p.partitions(t)
		case p.is("as") || p.is("select"):
			p.refuse(at, "CREATE TABLE AS is not read", "write the columns with their types")
		case p.dialect == MySQL && at.kind == word:
			p.mysqlOption(t)
			p.accept(",")
		default:
			return
		}
	}
}

// mysqlOption reads one NAME [=] VALUE.
func (p *parser) mysqlOption(t *storage.Table) {
	p.accept("default")
	name := p.next()
	switch name.low {
	case "character":
		p.expect("set")
		p.accept("=")
		t.Charset = p.name("a character set")
	case "charset":
		p.accept("=")
		t.Charset = p.name("a character set")
	case "engine":
		p.accept("=")
		if v := p.next(); v.low != "innodb" {
			p.refuse(v, "only ENGINE=InnoDB is sized", "")
		}
	case "row_format":
		p.accept("=")
		v := p.next()
		switch v.low {
		case "dynamic", "default", "compressed", "compact":
			t.RowFormat = v.low
			if v.low == "default" || v.low == "compact" { // the same record below 768-byte values
				t.RowFormat = "dynamic"
			}
		default:
			p.refuse(v, "row format is not sized", "DYNAMIC, COMPACT or COMPRESSED")
		}
	case "key_block_size":
		p.accept("=")
		v := p.next()
		if _, err := fmt.Sscanf(v.text, "%d", &t.KeyBlockSize); err != nil || t.KeyBlockSize < 1 || t.KeyBlockSize > 16 {
			p.fail(v, "KEY_BLOCK_SIZE is out of range", "1, 2, 4, 8 or 16")
		}
	case "page_compressed", "encrypted", "transactional":
		p.accept("=")
		if v := p.next(); name.low == "page_compressed" && v.text != "0" {
			p.refuse(name, "page compression is not sized", "its effect depends on the file system's hole punching")
		}
	case "collate", "comment", "auto_increment", "avg_row_length", "max_rows", "min_rows", "checksum", "delay_key_write",
		"stats_persistent", "stats_auto_recalc", "stats_sample_pages", "compression", "encryption", "pack_keys", "tablespace":
		p.accept("=")
		p.next()
	default:
		p.fail(name, "unknown table option", "ENGINE, ROW_FORMAT, KEY_BLOCK_SIZE, CHARSET, COLLATE or COMMENT")
	}
}

// partitions skips a partition clause; it counts the partitions where they are
// listed.
func (p *parser) partitions(t *storage.Table) {
	for p.tok().kind == word { // RANGE, LIST, HASH, KEY, COLUMNS, LINEAR and function names
		p.at++
	}
	p.balanced()
	if p.accept("partitions") {
		v := p.next()
		if _, err := fmt.Sscanf(v.text, "%d", &t.Partitions); err != nil || t.Partitions < 1 || t.Partitions > 8192 {
			p.fail(v, "number of partitions is out of range", "1 to 8192")
		}
		return
	}
	if !p.is("(") {
		return
	}
	depth, n := 0, 0
	for {
		tok := p.next()
		switch {
		case tok.kind == eof:
			p.fail(tok, "parenthesis is never closed", ")")
		case tok.text == "(" && tok.kind == punct:
			depth++
		case tok.text == ")" && tok.kind == punct:
			if depth--; depth == 0 {
				t.Partitions = max(1, n)
				return
			}
		case tok.low == "partition" && tok.kind == word && depth == 1:
			n++
		}
	}
}
