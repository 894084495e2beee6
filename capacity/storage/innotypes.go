package storage

import (
	"fmt"
	"strings"
)

// innoType is the storage of a MySQL/MariaDB column in an InnoDB record.
type innoType struct {
	size     int  // bytes of a fixed-length value; 0 = variable
	maxBytes int  // largest value of a variable-length type
	random   bool // declared binary: does not compress
}

// innoFixed are the fixed-length types (storage requirements of the manual).
var innoFixed = map[string]int{
	"tinyint": 1, "bool": 1, "boolean": 1, "smallint": 2, "mediumint": 3, "int": 4, "integer": 4, "bigint": 8,
	"int1": 1, "int2": 2, "int3": 3, "int4": 4, "int8": 8, "serial": 8,
	"float": 4, "double": 8, "double precision": 8, "real": 8,
	"date": 3, "year": 1, "uuid": 16, "inet6": 16, "inet4": 4,
}

// innoBlobs are the long types with their largest value.
var innoBlobs = map[string]int{
	"tinyblob": 255, "blob": 65535, "mediumblob": 1<<24 - 1, "longblob": 1<<31 - 1,
	"tinytext": 255, "text": 65535, "mediumtext": 1<<24 - 1, "longtext": 1<<31 - 1, "json": 1<<31 - 1,
	"long varchar": 1<<24 - 1, "long varbinary": 1<<24 - 1,
}

// charsetWidth is the largest number of bytes of a character.
func charsetWidth(cs string) int {
	switch strings.ToLower(cs) {
	case "ascii", "latin1", "binary", "latin2", "latin5", "latin7", "cp1250", "cp1251", "cp1252", "koi8r":
		return 1
	case "ucs2", "gbk", "big5", "sjis", "cp932":
		return 2
	case "utf8", "utf8mb3", "ujis", "euckr":
		return 3
	default:
		return 4 // utf8mb4, utf16, utf32, gb18030
	}
}

// innoColumns resolves the columns of a table.
func innoColumns(t *Table) ([]Column, []innoType, error) {
	cols := append([]Column(nil), t.Columns...)
	types := make([]innoType, len(cols))
	for i := range cols {
		ty, err := innoTypeOf(t, &cols[i])
		if err != nil {
			return nil, nil, err
		}
		c := &cols[i]
		if ty.size > 0 {
			c.Mean, c.SD = float64(ty.size), 0
		} else if c.Mean == 0 && c.Null < 1 {
			if strings.HasPrefix(c.Type, "char") && len(c.Args) > 0 {
				c.Mean = float64(c.Args[0])
			} else {
				return nil, nil, &MissingMeanError{Column: c.Name, Type: c.Type}
			}
		}
		types[i] = ty
	}
	return cols, types, nil
}

func innoTypeOf(t *Table, c *Column) (innoType, error) {
	n := 1
	if len(c.Args) > 0 {
		n = c.Args[0]
	}
	fraction := func(base int) innoType {
		if len(c.Args) == 0 {
			return innoType{size: base}
		}
		return innoType{size: base + (min(n, 6)+1)/2}
	}
	cs := c.Charset
	if cs == "" {
		cs = t.Charset
	}
	width := charsetWidth(cs)
	if size, ok := innoFixed[c.Type]; ok {
		if c.Type == "float" && n > 24 {
			size = 8
		}
		return innoType{size: size}, nil
	}
	if size, ok := innoBlobs[c.Type]; ok {
		return innoType{maxBytes: size, random: strings.Contains(c.Type, "b")}, nil
	}
	switch c.Type {
	case "datetime":
		return fraction(5), nil
	case "timestamp":
		return fraction(4), nil
	case "time":
		return fraction(3), nil
	case "char", "character", "national char", "national character":
		if width == 1 {
			return innoType{size: n}, nil
		}
		return innoType{maxBytes: n * width}, nil
	case "varchar", "character varying", "national varchar":
		return innoType{maxBytes: n * width}, nil
	case "binary":
		return innoType{size: n, random: true}, nil
	case "varbinary":
		return innoType{maxBytes: n, random: true}, nil
	case "decimal", "numeric", "dec", "fixed":
		return innoType{size: decimalBytes(c.Args)}, nil
	case "bit":
		return innoType{size: (n + 7) / 8}, nil
	case "enum":
		if c.Values > 255 {
			return innoType{size: 2}, nil
		}
		return innoType{size: 1}, nil
	case "set":
		b := (c.Values + 7) / 8
		if b > 4 {
			b = 8
		}
		return innoType{size: max(1, b)}, nil
	}
	return innoType{}, fmt.Errorf("column %q: type %q is not a MySQL type known here", c.Name, c.Type)
}

// decimalBytes packs 9 digits in 4 bytes on each side of the point.
func decimalBytes(args []int) int {
	p, s := 10, 0
	if len(args) > 0 {
		p = args[0]
	}
	if len(args) > 1 {
		s = min(args[1], p)
	}
	left := [...]int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}
	return (p-s)/9*4 + left[(p-s)%9] + s/9*4 + left[s%9]
}

// innoValue adds one value to a record and returns its bytes with length bytes.
func innoValue(ty innoType, length int) int {
	if ty.size > 0 {
		return ty.size
	}
	if ty.maxBytes > 255 && length > 127 {
		return length + 2
	}
	return length + 1
}
