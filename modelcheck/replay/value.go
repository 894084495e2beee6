package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Value is a concrete value of the language as a worker holds it: nil for none,
// bool, int64, string (symbols, texts, operations, instances, fresh symbols,
// hashes), Record, or *Message.
type Value any

// Record is a row, an entry, a record or a receipt: fields by name.
type Record map[string]Value

// Message is a delivered message.
type Message struct {
	ID     Value
	Op     Value
	Fields Record
	// Handle is what the driver needs to acknowledge it.
	Handle any
}

// field reads X.name; a field of none is none.
func field(x Value, name string) Value {
	switch x := x.(type) {
	case Record:
		return x[name]
	case *Message:
		switch name {
		case "id":
			return x.ID
		case "op":
			return x.Op
		}
		return x.Fields[name]
	}
	return nil
}

// equal compares two values; none equals none only.
func equal(a, b Value) bool { return encode(a) == encode(b) }

// encode gives a text that is equal iff the values are: keys of a kv store,
// arguments of hash and message fields are stored in this form.
func encode(v Value) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case bool:
		return "b" + strconv.FormatBool(v)
	case int64:
		return "i" + strconv.FormatInt(v, 10)
	case string:
		return "s" + strconv.Itoa(len(v)) + ":" + v
	case Record:
		names := make([]string, 0, len(v))
		for n := range v {
			if v[n] != nil {
				names = append(names, n)
			}
		}
		sort.Strings(names)
		var b strings.Builder
		b.WriteByte('{')
		for _, n := range names {
			b.WriteString(strconv.Itoa(len(n)) + ":" + n + "=" + encode(v[n]) + ";")
		}
		b.WriteByte('}')
		return b.String()
	case *Message:
		return encode(v.ID)
	}
	return fmt.Sprintf("?%v", v)
}

// decode reverses encode for what drivers store.
func decode(s string) (Value, error) {
	v, rest, err := decodePart(s)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q has text behind the value", s)
	}
	return v, err
}

func decodePart(s string) (v Value, rest string, err error) {
	bad := fmt.Errorf("%q is no stored value", s)
	if s == "" {
		return nil, "", bad
	}
	switch s[0] {
	case '-':
		return nil, s[1:], nil
	case 'b':
		for _, w := range []string{"true", "false"} {
			if r, ok := strings.CutPrefix(s[1:], w); ok {
				return w == "true", r, nil
			}
		}
	case 'i':
		end := 1
		for end < len(s) && (s[end] == '-' || s[end] >= '0' && s[end] <= '9') {
			end++
		}
		n, err := strconv.ParseInt(s[1:end], 10, 64)
		return n, s[end:], err
	case 's':
		text, rest, ok := lengthPrefixed(s[1:])
		if ok {
			return text, rest, nil
		}
	case '{':
		return decodeRecord(s[1:])
	}
	return nil, "", bad
}

func decodeRecord(s string) (Value, string, error) {
	rec := Record{}
	for {
		if r, ok := strings.CutPrefix(s, "}"); ok {
			return rec, r, nil
		}
		name, rest, ok := lengthPrefixed(s)
		if !ok || !strings.HasPrefix(rest, "=") {
			return nil, "", fmt.Errorf("%q is no stored record", s)
		}
		v, rest, err := decodePart(rest[1:])
		if err != nil {
			return nil, "", err
		}
		if rec[name] = v; !strings.HasPrefix(rest, ";") {
			return nil, "", fmt.Errorf("%q is no stored record", s)
		}
		s = rest[1:]
	}
}

func lengthPrefixed(s string) (text, rest string, ok bool) {
	num, rest, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(num)
	if !ok || err != nil || n < 0 || n > len(rest) {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}

// hash is the value of hash(a, b): equal iff all arguments are.
func hash(args []Value) Value {
	h := sha256.New()
	for _, a := range args {
		h.Write([]byte(encode(a)))
	}
	return "h" + hex.EncodeToString(h.Sum(nil)[:12])
}
