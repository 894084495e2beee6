package ddl

import (
	"slices"
	"strconv"

	"github.com/relplan/relplan/capacity/storage"
)

// element reads one column or constraint of a table.
func (p *parser) element(t *storage.Table) {
	if p.accept("constraint") && !p.isConstraint() {
		p.name("a constraint name")
	}
	at := p.tok()
	switch {
	case p.accept("primary", "key"):
		p.method()
		p.addIndex(t, storage.Index{Primary: true, Unique: true}, at)
	case p.is("unique") && p.peek(1).kind != eof && !p.isColumnNamed():
		p.at++
		p.acceptAny("key", "index")
		p.accept("nulls", "not", "distinct")
		p.addIndex(t, storage.Index{Unique: true}, at)
	case (p.is("key") || p.is("index")) && p.dialect == MySQL && !p.isColumnNamed():
		p.at++
		p.addIndex(t, storage.Index{}, at)
	case (p.is("fulltext") || p.is("spatial")) && p.dialect == MySQL:
		p.refuse(at, "only B-tree indexes are sized", "")
	case p.accept("check"):
		p.balanced()
		p.accept("no", "inherit")
		p.accept("not", "enforced")
	case p.accept("foreign", "key"):
		if !p.is("(") {
			p.name("a constraint name")
		}
		cols := p.columnList()
		if p.dialect == MySQL {
			p.foreign = append(p.foreign, storage.Index{Columns: cols})
		}
		p.expect("references")
		p.references()
	case p.is("exclude") && p.dialect == PostgreSQL:
		p.refuse(at, "exclusion constraints are not sized", "")
	case p.is("like"):
		p.refuse(at, "the columns must stand in the statement", "write CREATE TABLE name (column type, ...)")
	default:
		p.column(t)
	}
}

func (p *parser) isConstraint() bool {
	return p.is("primary", "key") || p.is("unique") || p.is("check") || p.is("foreign", "key")
}

// isColumnNamed says that a keyword stands as the name of a column: a type word
// and no parenthesis follows.
func (p *parser) isColumnNamed() bool {
	a, b := p.peek(1), p.peek(2)
	if a.kind == word && b.text == "(" && p.peek(3).kind == number { // key varchar(10)
		return true
	}
	return a.kind == word && b.text != "(" && b.low != "using" && a.low != "key" && a.low != "index" && a.low != "nulls" || a.text == ","
}

// addIndex reads [name] (columns) options of a table constraint.
func (p *parser) addIndex(t *storage.Table, ix storage.Index, at token) {
	if !p.is("(") && !p.is("using") {
		ix.Name = p.name("( and the columns of the index")
	}
	p.method()
	ix.Columns = p.columnList()
	if ix.Primary {
		if t.Primary() != nil {
			p.refuse(at, "table has two primary keys", "")
		}
		ix.Name = "primary key"
	}
	p.indexOptions(&ix)
	t.Indexes = append(t.Indexes, ix)
}

// column reads name type constraints.
func (p *parser) column(t *storage.Table) {
	at := p.tok()
	c := storage.Column{Name: p.name("a column name")}
	if t.Column(c.Name) != nil {
		p.fail(at, "column is defined twice", "")
	}
	if len(t.Columns) == maxColumns {
		p.fail(at, "table has more than "+strconv.Itoa(maxColumns)+" columns", "")
	}
	p.columnType(&c)
	t.Columns = append(t.Columns, c)
	p.columnConstraints(t, &t.Columns[len(t.Columns)-1])
}

// second words that belong to a type.
var typeWords = map[string][]string{
	"character": {"varying"}, "char": {"varying"}, "bit": {"varying"}, "double": {"precision"},
	"national": {"character", "char", "varchar"}, "long": {"varchar", "varbinary"},
}

// constraint words end a type in SQLite, where a type is any words.
var constraintWords = []string{"not", "null", "default", "primary", "unique", "check", "references", "collate",
	"generated", "constraint", "as", "on", "autoincrement", "auto_increment", "comment", "foreign", "character", "charset",
	"unsigned", "signed", "zerofill", "invisible", "visible", "storage", "compression", "deferrable", "initially", "key"}

// columnType reads the type with its numbers.
func (p *parser) columnType(c *storage.Column) {
	at := p.tok()
	if at.kind != word && at.kind != quoted {
		if p.dialect == SQLite { // a column may have no type
			return
		}
		p.fail(at, "", "a type")
	}
	if p.dialect == SQLite {
		for p.tok().kind == word && (!slices.Contains(constraintWords, p.tok().low) || p.is("unsigned") || (c.Type == "" && p.is("character"))) {
			c.Type = join(c.Type, p.next().low)
		}
		p.typeArgs(c)
		return
	}
	c.Type = p.next().low
	for p.accept(".") { // pg_catalog.int4
		c.Type = p.name("a type")
	}
	for slices.Contains(typeWords[c.Type], p.tok().low) && p.tok().kind == word {
		c.Type = join(c.Type, p.next().low)
	}
	p.typeArgs(c)
	if p.dialect == PostgreSQL && (c.Type == "timestamp" || c.Type == "time") {
		switch {
		case p.accept("with", "time", "zone"):
			c.Type += " with time zone"
		case p.accept("without", "time", "zone"):
		}
	}
	if p.is("[") || p.is("array") {
		p.refuse(p.tok(), "array columns are not sized", "declare it as bytea with the mean length of the array")
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// typeArgs reads (n), (p, s) or the values of an ENUM or SET.
func (p *parser) typeArgs(c *storage.Column) {
	if !p.accept("(") {
		return
	}
	for {
		t := p.next()
		switch t.kind {
		case number:
			n, err := strconv.Atoi(t.text)
			if err != nil || n < 0 || n > 1<<30 {
				p.fail(t, "length of a type is out of range", "a whole number up to 2^30")
			}
			c.Args = append(c.Args, n)
		case text:
			c.Values++
		case punct:
			if t.text == "-" || t.text == "+" { // numeric(3, -2)
				continue
			}
			p.fail(t, "", "a number")
		case word:
			if t.low != "max" && t.low != "char" && t.low != "byte" {
				p.fail(t, "", "a number")
			}
		default:
			p.fail(t, "", "a number")
		}
		for p.tok().kind == word && (p.is("char") || p.is("byte")) {
			p.at++
		}
		if p.accept(")") {
			return
		}
		if p.tok().kind == number { // after a sign
			continue
		}
		p.expect(",")
	}
}

// columnConstraints reads what follows a type, in any order.
func (p *parser) columnConstraints(t *storage.Table, c *storage.Column) {
	for {
		at := p.tok()
		switch {
		case p.accept("not", "null"):
			c.NotNull = true
		case p.accept("null"):
		case p.accept("constraint"):
			p.name("a constraint name")
		case p.accept("primary", "key") || (p.dialect == MySQL && p.accept("key")):
			p.acceptAny("asc", "desc")
			ix := storage.Index{Name: "primary key", Primary: true, Unique: true, Columns: []string{c.Name}}
			if t.Primary() != nil {
				p.refuse(at, "table has two primary keys", "")
			}
			p.indexOptions(&ix)
			t.Indexes = append(t.Indexes, ix)
		case p.accept("unique"):
			p.accept("key")
			ix := storage.Index{Unique: true, Columns: []string{c.Name}}
			p.indexOptions(&ix)
			t.Indexes = append(t.Indexes, ix)
		case p.accept("default"):
			p.expression()
		case p.accept("check"):
			p.balanced()
		case p.accept("references"):
			p.references()
			if p.dialect == MySQL { // InnoDB ignores inline REFERENCES up to MySQL 8; MariaDB builds the index
				p.foreign = append(p.foreign, storage.Index{Columns: []string{c.Name}})
			}
		case p.accept("collate"):
			p.tableName()
		case p.accept("character", "set"), p.accept("charset"):
			p.accept("=")
			c.Charset = p.name("a character set")
		case p.is("generated"), p.is("as"):
			p.generated()
		case p.accept("on", "update"), p.accept("on", "conflict"):
			p.expression()
		case p.accept("comment"), p.accept("storage"), p.accept("compression"):
			p.next()
		case p.acceptAny("auto_increment", "autoincrement", "unsigned", "signed", "zerofill", "invisible", "visible", "deferrable"),
			p.accept("not", "deferrable"), p.accept("initially", "deferred"), p.accept("initially", "immediate"):
		case p.is(",") || p.is(")"):
			return
		default:
			p.fail(at, "", "a column constraint, a comma or a closing parenthesis")
		}
	}
}

// generated reads GENERATED ... AS IDENTITY [(...)] and refuses computed columns
// that are not stored.
func (p *parser) generated() {
	at := p.tok()
	if p.accept("generated") {
		p.accept("always")
		p.accept("by", "default")
		p.accept("on", "null")
	}
	p.expect("as")
	if p.accept("identity") {
		if p.is("(") {
			p.balanced()
		}
		return
	}
	p.balanced()
	if p.acceptAny("stored", "persistent") {
		return
	}
	p.accept("virtual")
	p.refuse(at, "virtual columns are not sized", "they take no space in the table; remove the column, or declare it STORED")
}

// references reads the target and actions of a foreign key.
func (p *parser) references() {
	p.tableName()
	if p.is("(") {
		p.balanced()
	}
	for {
		switch {
		case p.accept("on", "delete"), p.accept("on", "update"):
			if !(p.accept("no", "action") || p.accept("set", "null") || p.accept("set", "default") || p.acceptAny("cascade", "restrict")) {
				p.fail(p.tok(), "", "CASCADE, RESTRICT, NO ACTION, SET NULL or SET DEFAULT")
			}
		case p.accept("match"):
			p.next()
		case p.accept("deferrable"), p.accept("not", "deferrable"), p.accept("initially", "deferred"), p.accept("initially", "immediate"):
		default:
			return
		}
	}
}

// balanced skips a parenthesised group.
func (p *parser) balanced() {
	open := p.expect("(")
	for depth := 1; depth > 0; {
		t := p.next()
		switch {
		case t.kind == eof:
			p.fail(open, "parenthesis is never closed", ")")
		case t.kind == punct && t.text == "(":
			depth++
		case t.kind == punct && t.text == ")":
			depth--
		}
	}
}

// expression skips a DEFAULT value: up to the next constraint, comma or closing
// parenthesis outside of parentheses.
func (p *parser) expression() {
	first := true
	for {
		t := p.tok()
		switch {
		case t.kind == eof:
			p.fail(t, "", "a value")
		case p.is("("):
			p.balanced()
		case p.is(",") || p.is(")") || p.is(";"):
			if first {
				p.fail(t, "", "a value")
			}
			return
		case !first && t.kind == word && slices.Contains(constraintWords, t.low) && t.low != "character" && t.low != "as":
			return
		default:
			p.at++
		}
		first = false
	}
}
