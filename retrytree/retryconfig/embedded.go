package retryconfig

import (
	"path"
	"regexp"
	"strings"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// embeddedExt are the endings of keys of a ConfigMap that hold a file.
var embeddedExt = map[string]bool{".yml": true, ".yaml": true, ".properties": true, ".json": true, ".conf": true, ".cfg": true, ".toml": true, ".ini": true, ".env": true}

// retryKey is a line of settings that sets a retry.
var retryKey = regexp.MustCompile(`(?im)^[^#\n]*retr(y|ies)[\w.\-]*["']?\s*[:=]`)

// embedded reads the files that a ConfigMap holds. Lines count in the file around them.
func (in *input) embedded(d *doc) {
	for _, e := range d.root.Get("data").Map() {
		text := e.Value.Str()
		if !strings.Contains(text, "\n") {
			continue
		}
		if !embeddedExt[path.Ext(e.Key)] && e.Key != "Caddyfile" {
			if retryKey.MatchString(text) {
				in.fact("unmodelled-mechanism", e.KeyPos, nil, "key %s of ConfigMap %s speaks of retries and is not read: its kind is not known", e.Key, d.id())
			}
			continue
		}
		f := Parse(e.Key, []byte(text))
		where := "key " + e.Key + " of ConfigMap " + d.id()
		if f.Status == Unread {
			in.fact("unmodelled-mechanism", e.KeyPos, nil, "%s is not read: %s", where, f.Reason)
			continue
		}
		place := in.placeOf(e.Value, text)
		for _, h := range f.Hops {
			h.File = in.file.Path
			h.Line, h.Column = place(h.Line, h.Column)
			h.note("in %s", where)
		}
		in.file.Hops = append(in.file.Hops, f.Hops...)
		for _, x := range f.Facts {
			x.Line, x.Column = place(x.Line, x.Column)
			in.file.Facts = append(in.file.Facts, x)
		}
	}
}

// placeOf translates a place in the text of a block scalar into one in the file: the
// text starts on the line after the indicator, and each line has lost its indent.
func (in *input) placeOf(block *tree.Node, text string) func(line, column int) (int, int) {
	around, inner := tree.Lines(in.file.Source), tree.Lines([]byte(text))
	return func(line, column int) (int, int) {
		at := block.Pos.Line + line
		if at > len(around) || line > len(inner) || line < 1 {
			return block.Pos.Line, block.Pos.Col
		}
		i := strings.Index(around[at-1].Text, inner[line-1].Text)
		if i < 0 {
			return block.Pos.Line, block.Pos.Col // a folded or quoted text
		}
		return at, column + i
	}
}
