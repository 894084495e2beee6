package retryconfig

import (
	"slices"
	"strings"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// props are the settings of one Spring (or Quarkus, or Kafka) document, flattened, with
// relaxed names: max-attempts, maxAttempts and MAX_ATTEMPTS are one.
type props []tree.Prop

func canon(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '-' && s[i] != '_' {
			out = append(out, lowerByte(s[i]))
		}
	}
	return string(out)
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// sameName compares two names as canon would, without building them.
func sameName(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && (a[i] == '-' || a[i] == '_') {
			i++
		}
		for j < len(b) && (b[j] == '-' || b[j] == '_') {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if lowerByte(a[i]) != lowerByte(b[j]) {
			return false
		}
		i, j = i+1, j+1
	}
}

// hasPrefix reports whether the path starts with the segments, names relaxed; a
// segment * takes any name.
func hasPrefix(path []string, prefix ...string) bool {
	if len(path) < len(prefix) {
		return false
	}
	for i, p := range prefix {
		if p != "*" && !sameName(path[i], p) {
			return false
		}
	}
	return true
}

// sub gives the settings below a dotted prefix, without it.
func (p props) sub(dotted string) props {
	prefix := strings.Split(dotted, ".")
	var out props
	for _, x := range p {
		if len(x.Path) > len(prefix) && hasPrefix(x.Path, prefix...) {
			out = append(out, tree.Prop{Path: x.Path[len(prefix):], Value: x.Value, Doc: x.Doc})
		}
	}
	return out
}

// get gives the setting at a dotted path, or nil; the last one wins.
func (p props) get(dotted string) *tree.Node {
	path := strings.Split(dotted, ".")
	for i := len(p) - 1; i >= 0; i-- {
		if len(p[i].Path) == len(path) && hasPrefix(p[i].Path, path...) {
			return p[i].Value
		}
	}
	return nil
}

// list gives a setting that is a list: items a.0, a.1, or one text with commas.
func (p props) list(dotted string) []string {
	if n := p.get(dotted); n != nil {
		return words(n, ",")
	}
	var out []string
	for _, x := range p.sub(dotted) {
		if len(x.Path) == 1 && isIndex(x.Path[0]) {
			out = append(out, x.Value.Str())
		}
	}
	return out
}

// names lists the first segments in file order.
func (p props) names() []string {
	var out []string
	for _, x := range p {
		if !contains(out, x.Path[0]) {
			out = append(out, x.Path[0])
		}
	}
	return out
}

// at is the place of the first setting of the last document that has any.
func (p props) at() tree.Pos {
	var out tree.Pos
	doc := -1
	for _, x := range p {
		if x.Doc > doc {
			doc, out = x.Doc, x.Value.At()
		}
	}
	return out
}

// propDocs gives the documents of a flat or nested settings file.
func (in *input) propDocs() []props {
	if in.flat == nil && in.syn != synProperties {
		in.flat = [][]tree.Prop{}
		for _, d := range in.docs {
			if d.version == "" && d.root.Is(tree.Map) {
				in.flat = append(in.flat, d.root.Flatten())
			}
		}
	}
	var out []props
	for _, f := range in.flat {
		out = append(out, props(f))
	}
	return out
}

// readProps are prefixes of settings whose retries some reader takes, or that only look
// like retries; * is any name.
var readProps = [][]string{{"resilience4j"}, {"spring", "cloud", "gateway"}, {"spring", "kafka"}, {"spring", "rabbitmq"}, {"spring", "cloud", "stream"},
	{"spring", "cloud", "loadbalancer"}, {"ribbon"}, {"*", "ribbon"}, {"kafka"}, {"logging"}}

// unknownProps reports the first retry setting of a Spring file that no reader takes,
// where another one was read.
func (in *input) unknownProps() {
	if len(in.layered) == 0 {
		return
	}
	for _, l := range in.layered {
		if isKafka(l.set) {
			continue
		}
		for _, x := range l.set {
			key := x.Key()
			if _, _, mp := mpKey(x); mp || !retryWord.MatchString(key) || slices.ContainsFunc(readProps, func(p []string) bool { return hasPrefix(x.Path, p...) }) || x.Value.At().Line == 0 {
				continue
			}
			in.fact("unmodelled-mechanism", x.Value.At(), nil, "%q is a retry setting that no reader knows: state its values, or report the product", key)
			return
		}
	}
}

// anyProp reports a setting below one of the dotted prefixes in any document.
func (in *input) anyProp(prefixes ...string) bool {
	split := make([][]string, len(prefixes))
	for i, p := range prefixes {
		split[i] = strings.Split(p, ".")
	}
	docs := in.propDocs()
	for _, l := range in.under {
		docs = append(docs, l.set)
	}
	for _, d := range docs {
		for _, x := range d {
			for _, p := range split {
				if hasPrefix(x.Path, p...) {
					return true
				}
			}
		}
	}
	return false
}
