package tree

import (
	"strconv"
	"strings"
)

// Prop is one setting of a flat file, or one scalar of a nested one.
type Prop struct {
	Path  []string // segments as written; list positions are numbers
	Value *Node
	Doc   int // number of the document, where documents are laid over each other
}

// Key gives the path joined with dots.
func (p Prop) Key() string { return strings.Join(p.Path, ".") }

// Flatten lists the scalars (and nulls and empty collections) of a document with
// their paths; keys that hold dots are split, as Spring does.
func (n *Node) Flatten() []Prop {
	var out []Prop
	var walk func(path []string, n *Node)
	walk = func(path []string, n *Node) {
		switch {
		case n.Is(Map) && len(n.Entries) > 0:
			for _, e := range n.Entries {
				walk(append(path[:len(path):len(path)], SplitKey(e.Key)...), e.Value)
			}
		case n.Is(Seq) && len(n.Items) > 0:
			for i, it := range n.Items {
				walk(append(path[:len(path):len(path)], strconv.Itoa(i)), it)
			}
		default:
			if n != nil {
				out = append(out, Prop{Path: path, Value: n})
			}
		}
	}
	walk(nil, n)
	return out
}

// SplitKey splits a property key: a.b[0].c and a.[x.y] become their segments.
func SplitKey(key string) []string {
	if !strings.ContainsAny(key, ".[") {
		return []string{key}
	}
	var out []string
	cur := strings.Builder{}
	flush := func() {
		if cur.Len() > 0 {
			out = append(out, cur.String())
			cur.Reset()
		}
	}
	for i := 0; i < len(key); i++ {
		switch key[i] {
		case '.':
			flush()
		case '[':
			flush()
			if end := strings.IndexByte(key[i:], ']'); end > 0 {
				out = append(out, key[i+1:i+end])
				i += end
			} else {
				cur.WriteByte('[')
			}
		default:
			cur.WriteByte(key[i])
		}
	}
	flush()
	if len(out) == 0 {
		return []string{key}
	}
	return out
}

// Line is one line of a text file without its ending.
type Line struct {
	N    int
	Text string
}

// Lines splits a text; CRLF and a byte order mark are taken off.
func Lines(src []byte) []Line {
	s := strings.TrimPrefix(string(src), "\ufeff")
	var out []Line
	n := 0
	for len(s) > 0 {
		line, rest, _ := strings.Cut(s, "\n")
		n++
		out = append(out, Line{n, strings.TrimSuffix(line, "\r")})
		s = rest
	}
	return out
}

// ParseProperties reads a Java properties file. Every line without a separator is a
// key with an empty value, as in Java; the second result counts the lines with one.
// Documents separated by #--- or !--- become separate lists.
func ParseProperties(src []byte) (docs [][]Prop, pairs int) {
	docs = [][]Prop{nil}
	lines := Lines(src)
	for i := 0; i < len(lines) && pairs < MaxNodes; i++ {
		l := lines[i]
		text := strings.TrimLeft(l.Text, " \t\f")
		if text == "" || text[0] == '#' || text[0] == '!' {
			if t := strings.TrimRight(l.Text, " "); t == "#---" || t == "!---" {
				docs = append(docs, nil)
			}
			continue
		}
		col := len([]rune(l.Text)) - len([]rune(text)) + 1
		for continues(text) && i+1 < len(lines) {
			i++
			text = text[:len(text)-1] + strings.TrimLeft(lines[i].Text, " \t\f")
		}
		text = strings.TrimPrefix(text, "export ") // of a shell, in .env files
		key, value, sep := splitProperty(text)
		if sep {
			pairs++
		}
		d := &docs[len(docs)-1]
		*d = append(*d, Prop{Path: SplitKey(key), Value: &Node{Kind: Scalar, Text: value, Pos: Pos{l.N, col}}})
	}
	return docs, pairs
}

func continues(s string) bool {
	n := 0
	for i := len(s) - 1; i >= 0 && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

func splitProperty(s string) (key, value string, sep bool) {
	var b strings.Builder
	i := 0
	for ; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			b.WriteByte(s[i])
			continue
		}
		if c == '=' || c == ':' || c == ' ' || c == '\t' || c == '\f' {
			break
		}
		b.WriteByte(c)
	}
	rest := strings.TrimLeft(s[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		sep = true
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return b.String(), strings.NewReplacer(`\:`, ":", `\=`, "=", `\\`, `\`).Replace(rest), sep
}

// Section is one [name] of an INI file with its settings.
type Section struct {
	Name  string
	Pos   Pos
	Props []Entry
}

// ParseINI reads [section] blocks of key = value lines; settings before the first
// section stand in a section without a name. Indented lines below a key without a
// value become its nested mapping, as the AWS shared configuration file does.
// The second result counts what is neither: a caller that sees many has no INI file.
func ParseINI(src []byte) (sections []Section, other int) {
	cur := Section{}
	var parent *Entry
	for _, l := range Lines(src) {
		text := strings.TrimSpace(l.Text)
		switch {
		case text == "" || text[0] == '#' || text[0] == ';':
			continue
		case text[0] == '[' && strings.HasSuffix(strings.TrimSpace(stripINIComment(text)), "]"):
			if cur.Name != "" || len(cur.Props) > 0 {
				sections = append(sections, cur)
			}
			t := strings.TrimSpace(stripINIComment(text))
			cur = Section{Name: strings.TrimSpace(t[1 : len(t)-1]), Pos: Pos{l.N, 1}}
			parent = nil
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			other++
			continue
		}
		indent := len(l.Text) - len(strings.TrimLeft(l.Text, " \t"))
		e := Entry{Key: strings.TrimSpace(key), KeyPos: Pos{l.N, indent + 1},
			Value: &Node{Kind: Scalar, Text: strings.TrimSpace(stripINIComment(value)), Pos: Pos{l.N, indent + 1}}}
		if indent > 0 && parent != nil {
			parent.Value.Kind = Map
			parent.Value.Entries = append(parent.Value.Entries, e)
			continue
		}
		cur.Props = append(cur.Props, e)
		parent = nil
		if e.Value.Text == "" {
			parent = &cur.Props[len(cur.Props)-1]
		}
	}
	if cur.Name != "" || len(cur.Props) > 0 {
		sections = append(sections, cur)
	}
	return sections, other
}

// stripINIComment takes off a comment that stands after white space.
func stripINIComment(s string) string {
	for i := 1; i < len(s); i++ {
		if (s[i] == '#' || s[i] == ';') && (s[i-1] == ' ' || s[i-1] == '\t') {
			return s[:i]
		}
	}
	return s
}
