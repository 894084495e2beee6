// Package ddl reads CREATE TABLE and CREATE INDEX statements of PostgreSQL,
// MySQL and MariaDB, and SQLite into storage.Table. Everything else is refused
// with its file, line and column: a size must not silently ignore a statement
// that changes it.
package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/diag"
)

// Dialect is a language of CREATE TABLE.
type Dialect uint8

// The dialects.
const (
	PostgreSQL Dialect = iota
	MySQL              // MySQL and MariaDB
	SQLite
)

// String names the dialect.
func (d Dialect) String() string {
	return [...]string{"PostgreSQL", "MySQL/MariaDB", "SQLite"}[d]
}

// Of returns the dialect of an engine; false for engines without one.
func Of(e storage.Engine) (Dialect, bool) {
	switch e {
	case storage.Postgres:
		return PostgreSQL, true
	case storage.InnoDB:
		return MySQL, true
	case storage.SQLite:
		return SQLite, true
	}
	return 0, false
}

// code of every diagnostic of this package.
const code = "DDL"

// Limits of an input.
const (
	maxBytes   = 1 << 20
	maxColumns = 1600
	maxTables  = 1000
)

// Parse reads all statements of src. Errors go to l, each with position, what
// was found and what was expected; tables without errors are returned.
func Parse(file string, src []byte, d Dialect, l *diag.List) []*storage.Table {
	if len(src) > maxBytes {
		l.Add(diag.Diagnostic{Code: code, Pos: diag.Pos{File: file}, Message: fmt.Sprintf("file has %d bytes", len(src)),
			Expected: fmt.Sprintf("at most %d", maxBytes)})
		return nil
	}
	p := &parser{dialect: d, toks: scan(file, string(src), d, l), diags: l}
	for p.tok().kind != eof && len(p.tables) < maxTables {
		if p.accept(";") {
			continue
		}
		p.statement()
	}
	if len(p.tables) == 0 && !l.HasErrors() {
		l.Add(diag.Diagnostic{Code: code, Pos: p.tok().pos, Message: "no CREATE TABLE statement found", Expected: "CREATE TABLE"})
	}
	return p.tables
}

// ColumnType reads a type such as "varchar(64)" or "timestamp(6) with time zone"
// as a column without a name.
func ColumnType(typ string, d Dialect) (c storage.Column, err error) {
	if len(typ) > 1000 {
		return c, fmt.Errorf("type has more than 1000 characters")
	}
	var l diag.List
	p := &parser{dialect: d, toks: scan("", typ, d, &l), diags: &l}
	func() {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(failed); !ok {
					panic(r)
				}
			}
		}()
		p.columnType(&c)
		for p.acceptAny("unsigned", "signed", "zerofill") {
		}
		if p.accept("character", "set") {
			c.Charset = p.name("a character set")
		}
		if t := p.tok(); t.kind != eof {
			p.fail(t, "cannot read this type", "the end of the type")
		}
	}()
	if ds := l.Sorted(); len(ds) > 0 {
		return c, fmt.Errorf("type %q: %s", typ, ds[0].Text())
	}
	return c, nil
}

// Split returns the statements of src without the semicolons between them.
func Split(src string, d Dialect) []string {
	src = strings.TrimPrefix(src, "\ufeff")
	var out []string
	start := 0
	for _, t := range scan("", src, d, &diag.List{}) {
		if t.kind != eof && (t.kind != punct || t.text != ";") {
			continue
		}
		if s := strings.TrimSpace(src[start:min(t.off, len(src))]); s != "" {
			out = append(out, s)
		}
		start = t.off + 1
	}
	return out
}

// parser is a recursive-descent parser; an error skips to the next statement.
type parser struct {
	dialect Dialect
	toks    []token
	at      int
	diags   *diag.List
	tables  []*storage.Table
	foreign []storage.Index // indexes that foreign keys need (MySQL)
}

// failed unwinds to the statement after an error was recorded.
type failed struct{}

func (p *parser) tok() token { return p.toks[p.at] }

func (p *parser) peek(n int) token { return p.toks[min(p.at+n, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.tok()
	if t.kind != eof {
		p.at++
	}
	return t
}

// is says that the next tokens are these keywords or signs.
func (p *parser) is(words ...string) bool {
	for i, w := range words {
		t := p.peek(i)
		if t.low != w || (t.kind != word && t.kind != punct) {
			return false
		}
	}
	return true
}

// accept consumes these keywords if they are next.
func (p *parser) accept(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.at += len(words)
	return true
}

// acceptAny consumes one of several keywords.
func (p *parser) acceptAny(words ...string) bool {
	for _, w := range words {
		if p.accept(w) {
			return true
		}
	}
	return false
}

func (p *parser) expect(w string) token {
	t := p.tok()
	if !p.accept(w) {
		p.fail(t, "", strings.ToUpper(w))
	}
	return t
}

// fail records an error at t and unwinds.
func (p *parser) fail(t token, message, expected string) {
	if message == "" {
		message = "cannot read this " + p.dialect.String() + " statement"
	}
	p.diags.Add(diag.Diagnostic{Code: code, Pos: t.pos, Message: message, Found: t.String(), Expected: expected})
	panic(failed{})
}

// refuse records that something is understood but not supported.
func (p *parser) refuse(t token, what, hint string) {
	p.diags.Add(diag.Diagnostic{Code: code, Pos: t.pos, Message: what, Found: t.String(), Hint: hint})
	panic(failed{})
}

func (p *parser) statement() {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(failed); !ok {
				panic(r)
			}
			for p.tok().kind != eof && !p.accept(";") {
				p.at++
			}
		}
	}()
	start := p.tok()
	if !p.accept("create") {
		p.refuse(start, "only CREATE TABLE and CREATE INDEX are read", "keep the statements that define the table, remove the others")
	}
	unique := p.accept("unique")
	switch {
	case p.is("index"):
		p.at++
		p.createIndex(unique)
	case unique:
		p.fail(p.tok(), "", "INDEX")
	default:
		p.acceptAny("temporary", "temp", "unlogged", "global", "local")
		if !p.is("table") {
			p.refuse(p.tok(), "only CREATE TABLE and CREATE INDEX are read", "keep the statements that define the table, remove the others")
		}
		p.at++
		p.createTable()
	}
	if p.tok().kind != eof && !p.accept(";") {
		p.fail(p.tok(), "", "; or the end of the file")
	}
}

// name reads an identifier, folded to lower case if unquoted.
func (p *parser) name(what string) string {
	t := p.tok()
	switch t.kind {
	case word:
		p.at++
		return t.low
	case quoted:
		p.at++
		return t.text
	case text:
		if p.dialect == SQLite {
			p.at++
			return t.text
		}
	}
	p.fail(t, "", what)
	return ""
}

// tableName reads [schema.]table and returns the table.
func (p *parser) tableName() string {
	n := p.name("a table name")
	for p.accept(".") {
		n = p.name("a table name")
	}
	return n
}

func (p *parser) createTable() {
	p.accept("if", "not", "exists")
	at := p.tok()
	t := &storage.Table{Name: p.tableName()}
	for _, o := range p.tables {
		if o.Name == t.Name {
			p.refuse(at, "table is defined twice", "")
		}
	}
	if p.is("as") || p.is("like") || p.is("of") || p.is("partition", "of") {
		p.refuse(p.tok(), "the columns must stand in the statement", "write CREATE TABLE name (column type, ...)")
	}
	p.foreign = nil
	p.expect("(")
	for {
		p.element(t)
		if p.accept(",") {
			continue
		}
		p.expect(")")
		break
	}
	if len(t.Columns) == 0 {
		p.fail(at, "table has no columns", "")
	}
	p.options(t)
	p.finish(t, at)
	p.tables = append(p.tables, t)
}

// finish checks indexes against columns and adds the indexes foreign keys need.
func (p *parser) finish(t *storage.Table, at token) {
	for _, f := range p.foreign {
		covered := slices.ContainsFunc(t.Indexes, func(ix storage.Index) bool {
			return len(ix.Columns) >= len(f.Columns) && slices.Equal(ix.Columns[:len(f.Columns)], f.Columns)
		})
		if !covered {
			t.Indexes = append(t.Indexes, f)
		}
	}
	for i, ix := range t.Indexes {
		p.checkColumns(t, ix, at)
		for _, c := range ix.Columns {
			if ix.Primary {
				t.Column(c).NotNull = true
			}
		}
		if ix.Name == "" {
			t.Indexes[i].Name = indexName(t, ix)
		}
	}
	slices.SortStableFunc(t.Indexes, func(a, b storage.Index) int { return boolInt(b.Primary) - boolInt(a.Primary) })
	if t.WithoutRowid && t.Primary() == nil {
		p.fail(at, "a WITHOUT ROWID table needs a primary key", "")
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func indexName(t *storage.Table, ix storage.Index) string {
	if ix.Primary {
		return "primary key"
	}
	return t.Name + "(" + strings.Join(ix.Columns, ",") + ")"
}

func (p *parser) checkColumns(t *storage.Table, ix storage.Index, at token) {
	for _, c := range ix.Columns {
		if t.Column(c) == nil {
			p.unknownColumn(t, c, at)
		}
	}
}

func (p *parser) unknownColumn(t *storage.Table, c string, at token) {
	var names []string
	for _, col := range t.Columns {
		names = append(names, col.Name)
	}
	hint := ""
	if near, ok := diag.Closest(c, names); ok {
		hint = "did you mean " + near + "?"
	}
	p.diags.Add(diag.Diagnostic{Code: code, Pos: at.pos, Message: fmt.Sprintf("table %s has no column %q", t.Name, c), Hint: hint})
	panic(failed{})
}

// createIndex reads the rest of CREATE [UNIQUE] INDEX.
func (p *parser) createIndex(unique bool) {
	p.accept("concurrently")
	p.accept("if", "not", "exists")
	ix := storage.Index{Unique: unique}
	if !p.is("on") {
		ix.Name = p.tableName()
	}
	p.expect("on")
	p.accept("only")
	at := p.tok()
	name := p.tableName()
	i := slices.IndexFunc(p.tables, func(t *storage.Table) bool { return t.Name == name })
	if i < 0 {
		p.refuse(at, "index on a table that is not defined above", "put CREATE TABLE before CREATE INDEX")
	}
	p.method()
	cols := p.tok()
	ix.Columns = p.columnList()
	p.indexOptions(&ix)
	t := p.tables[i]
	p.checkColumns(t, ix, cols)
	if ix.Name == "" {
		ix.Name = indexName(t, ix)
	}
	t.Indexes = append(t.Indexes, ix)
}

// method reads USING and refuses anything but a B-tree.
func (p *parser) method() {
	if !p.accept("using") {
		return
	}
	if !p.accept("btree") {
		p.refuse(p.tok(), "only B-tree indexes are sized", "")
	}
}

// columnList reads (a, b DESC, c(20)).
func (p *parser) columnList() []string {
	p.expect("(")
	var cols []string
	for {
		if p.is("(") || (p.peek(1).text == "(" && p.peek(2).kind != number) {
			p.refuse(p.tok(), "indexes on expressions are not sized", "index a column")
		}
		at := p.tok()
		c := p.name("a column name")
		if p.is("(") { // prefix length
			p.refuse(p.tok(), "indexes on a prefix of a column are not sized", "index the whole column")
		}
		if slices.Contains(cols, c) {
			p.fail(at, "column is listed twice", "")
		}
		cols = append(cols, c)
		if p.accept("collate") {
			p.tableName()
		}
		p.acceptAny("asc", "desc")
		if p.accept("nulls") && !p.acceptAny("first", "last") {
			p.fail(p.tok(), "", "FIRST or LAST")
		}
		if p.accept(")") {
			return cols
		}
		if !p.is(",") {
			p.fail(p.tok(), "", ", or )")
		}
		p.at++
	}
}

// indexOptions reads what may follow the columns of an index.
func (p *parser) indexOptions(ix *storage.Index) {
	for {
		switch t := p.tok(); {
		case p.is("where"):
			p.refuse(t, "partial indexes are not sized", "the share of rows is unknown; model it as its own table")
		case p.is("include"):
			p.refuse(t, "INCLUDE columns are not sized", "add the columns to the key: the leaf takes the same bytes")
		case p.accept("with"):
			if f := p.storageParams(); f > 0 {
				ix.FillFactor = f
			}
		case p.accept("tablespace"):
			p.name("a tablespace")
		case p.accept("using", "index", "tablespace"):
			p.name("a tablespace")
		case p.is("using"):
			p.method()
		case p.accept("comment"):
			p.accept("=")
			p.next()
		case p.accept("key_block_size"):
			p.accept("=")
			p.next()
		case p.acceptAny("visible", "deferrable") || p.accept("not", "deferrable") ||
			p.accept("initially", "deferred") || p.accept("initially", "immediate"):
		case p.accept("on", "conflict"):
			p.next()
		default:
			return
		}
	}
}

// storageParams reads (fillfactor = 70, ...) and returns the fill factor.
func (p *parser) storageParams() int {
	fill := 0
	p.expect("(")
	for {
		key := p.name("a storage parameter")
		for p.accept(".") {
			key = p.name("a storage parameter")
		}
		val := token{text: "true"}
		if p.accept("=") {
			val = p.next()
		}
		if key == "fillfactor" {
			if _, err := fmt.Sscanf(val.text, "%d", &fill); err != nil || fill < 10 || fill > 100 {
				p.fail(val, "fill factor is out of range", "a number from 10 to 100")
			}
		}
		if p.accept(")") {
			return fill
		}
		if !p.accept(",") {
			p.fail(p.tok(), "", ", or )")
		}
	}
}
