package storage

import "fmt"

// pgType is the storage of a PostgreSQL type: pg_type.typlen (-1 = variable) and
// typalign in bytes.
type pgType struct {
	size, align int
	note        string
}

// pgTypes are the built-in types (src/include/catalog/pg_type.dat).
var pgTypes = map[string]pgType{
	"boolean": {1, 1, ""}, "bool": {1, 1, ""}, "\"char\"": {1, 1, ""},
	"smallint": {2, 2, ""}, "int2": {2, 2, ""}, "smallserial": {2, 2, ""}, "serial2": {2, 2, ""},
	"integer": {4, 4, ""}, "int": {4, 4, ""}, "int4": {4, 4, ""}, "serial": {4, 4, ""}, "serial4": {4, 4, ""},
	"bigint": {8, 8, ""}, "int8": {8, 8, ""}, "bigserial": {8, 8, ""}, "serial8": {8, 8, ""},
	"real": {4, 4, ""}, "float4": {4, 4, ""}, "double precision": {8, 8, ""}, "float8": {8, 8, ""}, "float": {8, 8, ""},
	"oid": {4, 4, ""}, "xid": {4, 4, ""}, "money": {8, 8, ""}, "pg_lsn": {8, 8, ""},
	"date": {4, 4, ""}, "time": {8, 8, ""}, "time without time zone": {8, 8, ""},
	"timetz": {12, 8, ""}, "time with time zone": {12, 8, ""},
	"timestamp": {8, 8, ""}, "timestamp without time zone": {8, 8, ""},
	"timestamptz": {8, 8, ""}, "timestamp with time zone": {8, 8, ""},
	"interval": {16, 8, ""}, "uuid": {16, 1, ""}, "macaddr": {6, 4, ""}, "macaddr8": {8, 4, ""},
	"point": {16, 8, ""}, "name": {64, 1, ""},
	"varchar": {-1, 4, ""}, "character varying": {-1, 4, ""}, "text": {-1, 4, ""}, "citext": {-1, 4, ""},
	"char": {-1, 4, ""}, "character": {-1, 4, ""}, "bpchar": {-1, 4, ""},
	"bytea": {-1, 4, ""}, "json": {-1, 4, ""}, "xml": {-1, 4, ""}, "jsonb": {-1, 4, ""},
	"numeric": {-1, 4, ""}, "decimal": {-1, 4, ""}, "inet": {-1, 4, ""}, "cidr": {-1, 4, ""},
	"bit": {-1, 4, ""}, "bit varying": {-1, 4, ""}, "varbit": {-1, 4, ""},
}

// pgColumns resolves types and fills the mean lengths that follow from the type.
func pgColumns(t *Table) ([]Column, []pgType, error) {
	cols := append([]Column(nil), t.Columns...)
	types := make([]pgType, len(cols))
	for i := range cols {
		c := &cols[i]
		ty, ok := pgTypes[c.Type]
		if !ok {
			return nil, nil, fmt.Errorf("column %q: type %q is not a PostgreSQL type known here", c.Name, c.Type)
		}
		if ty.size < 0 && c.Mean == 0 && c.Null < 1 {
			if c.Mean = pgDefaultMean(c); c.Mean == 0 {
				return nil, nil, &MissingMeanError{Column: c.Name, Type: c.Type}
			}
		}
		if ty.size > 0 {
			c.Mean, c.SD = float64(ty.size), 0
		}
		types[i] = ty
	}
	return cols, types, nil
}

// MissingMeanError says that a variable-length column has no mean length.
type MissingMeanError struct{ Column, Type string }

// Error implements error.
func (e *MissingMeanError) Error() string {
	return fmt.Sprintf("column %q: type %s has no fixed length and no mean length was given", e.Column, e.Type)
}

// pgDefaultMean is the length that a declaration implies: char(n) is padded,
// numeric(p,s) at full precision, IPv4 addresses.
func pgDefaultMean(c *Column) float64 {
	switch c.Type {
	case "char", "character", "bpchar":
		if len(c.Args) > 0 {
			return float64(c.Args[0])
		}
		return 1
	case "numeric", "decimal":
		p, s := 16, 0
		if len(c.Args) > 0 {
			p = c.Args[0]
		}
		if len(c.Args) > 1 {
			s = c.Args[1]
		}
		return float64(2 + 2*((p-s+3)/4+(s+3)/4)) // NumericShort header + base-10000 digits
	case "inet", "cidr":
		return 6
	case "bit":
		n := 1
		if len(c.Args) > 0 {
			n = c.Args[0]
		}
		return float64(4 + (n+7)/8)
	}
	return 0
}

// pgAppend adds one value to a tuple that is off bytes long.
func pgAppend(off int, ty pgType, length int) int {
	if ty.size > 0 {
		return alignTo(off, ty.align) + ty.size
	}
	if length <= 126 { // VARATT_SHORT_MAX - header: 1-byte header, unaligned
		return off + 1 + length
	}
	return alignTo(off, 4) + 4 + length
}

func alignTo(n, a int) int { return (n + a - 1) / a * a }
