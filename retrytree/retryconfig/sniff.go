package retryconfig

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

type syntax uint8

const (
	synUnknown syntax = iota
	synYAML
	synJSON
	synProperties
	synINI
	synNginx
	synHAProxy
	synCaddy
)

var (
	nginxBlock = regexp.MustCompile(`(?m)^\s*(http|server|stream|events|upstream\s+\S+|location\s+[^{]+|if\s*\(.*\))\s*\{`)
	nginxStmt  = regexp.MustCompile(`(?m)^\s*[a-z_]+(\s+[^;{}]+)?;\s*(#.*)?$`)
	nginxRetry = regexp.MustCompile(`(?m)^\s*(proxy|grpc|fastcgi|uwsgi|scgi|memcached)_(pass|next_upstream\S*)\s+[^;]+;`)
	haproxySec = regexp.MustCompile(`(?m)^(global|defaults|frontend|backend|listen)(\s+[\w.\-]+)?(\s+from\s+\S+)?\s*(#.*)?\r?$`)
	haproxyKey = regexp.MustCompile(`(?m)^\s+(mode|timeout|retries|retry-on|option|server|balance|bind|default_backend)\s+\S`)
	caddyProxy = regexp.MustCompile(`(?m)^\s*(reverse_proxy|php_fastcgi|lb_(retries|try_duration|try_interval|retry_match))\b`)
	iniSection = regexp.MustCompile(`(?m)^\[{1,2}[^\[\]{}:,]+\]{1,2}\s*([#;].*)?\r?$`)
	keyEquals  = regexp.MustCompile(`^(export\s+)?[A-Za-z_%"][\w./$\-\[\]"%*]*\s*=`)
)

// sniff tells the syntax of a text by its content.
func sniff(src []byte) syntax {
	switch c := bytes.TrimSpace(src)[0]; {
	case c == '{' || c == '"':
		if caddyProxy.Match(src) && !bytes.Contains(src, []byte(`":`)) {
			return synCaddy
		}
		return synUnknown
	case bytes.IndexByte(src, ';') > 0 && (nginxBlock.Match(src) && nginxStmt.Match(src) || nginxRetry.Match(src)):
		return synNginx
	case hasAny(src, "global", "defaults", "frontend", "backend", "listen") && haproxySec.Match(src) && haproxyKey.Match(src) && !bytes.Contains(src, []byte("defaults:")):
		return synHAProxy
	case hasAny(src, "reverse_proxy", "php_fastcgi", "lb_") && caddyProxy.Match(src) && bytes.ContainsAny(src, "{") && !yamlKey.Match(src):
		return synCaddy
	}
	if s := flatSyntax(src); s != synUnknown {
		return s
	}
	return synUnknown
}

// hasAny looks for words before an expression looks for their places.
func hasAny(src []byte, words ...string) bool {
	for _, w := range words {
		if bytes.Contains(src, []byte(w)) {
			return true
		}
	}
	return false
}

var yamlKey = regexp.MustCompile(`(?m)^\s*-?\s*[\w.\-]+:\s`)

// flatSyntax tells INI and properties from YAML: every significant line is a section
// or has an equals sign before any colon with a space.
func flatSyntax(src []byte) syntax {
	section, pairs, colons := false, 0, 0
	for _, l := range tree.Lines(src) {
		t := strings.TrimSpace(l.Text)
		switch {
		case t == "" || strings.HasPrefix(t, "#") || strings.HasPrefix(t, ";") || strings.HasPrefix(t, "!") || strings.HasPrefix(t, "//"):
		case iniSection.MatchString(t):
			section = true
		case keyEquals.MatchString(t):
			pairs++
		case pairs > 0 && !strings.Contains(t, ": "):
			// a continuation, or part of a value
		default:
			colons++
		}
	}
	switch {
	case section && colons == 0 && pairs > 0, section && pairs > 2*colons:
		return synINI
	case pairs > 0 && colons == 0:
		return synProperties
	}
	return synUnknown
}

// looksJSON tells a broken JSON file from a YAML flow mapping.
func looksJSON(trim []byte) bool {
	return regexp.MustCompile(`^(\{|/[/*])[\s\S]{0,400}?"[^"\n]*"\s*:`).Match(trim)
}

// parseYAML reads the documents; the first error refuses the file.
func parseYAML(name string, src []byte) ([]*tree.Node, error) {
	var l diag.List
	// without aliases a file has fewer values than bytes: what has many more is a bomb
	nodes := min(tree.MaxNodes, 10_000+2*len(src))
	docs := yamlx.Parse(name, src, yamlx.Limits{MaxBytes: MaxBytes, MaxNodes: nodes, MaxDepth: tree.MaxDepth}, &l)
	if l.HasErrors() {
		for _, d := range l.Sorted() {
			if d.Severity == diag.Error {
				return nil, &tree.Error{Pos: tree.Pos{Line: d.Pos.Line, Col: d.Pos.Column}, Message: strings.TrimSpace(d.Message)}
			}
		}
	}
	var out []*tree.Node
	for _, d := range docs {
		out = append(out, fromYAML(d))
	}
	return out, nil
}

func startOf(y *yamlx.Node) tree.Pos {
	line, column := y.Start()
	return tree.Pos{Line: line, Col: column}
}

func fromYAML(y *yamlx.Node) *tree.Node {
	n := &tree.Node{Pos: startOf(y)}
	if t := y.Tag(); strings.HasPrefix(t, "!") && !strings.HasPrefix(t, "!!") {
		n.Tag = t
	}
	switch y.Kind() {
	case yamlx.Scalar:
		n.Kind, n.Text, n.Quoted = tree.Scalar, y.Value(), y.Quoted()
	case yamlx.Mapping:
		n.Kind = tree.Map
		n.Entries = make([]tree.Entry, 0, len(y.Entries()))
		for _, e := range y.Entries() {
			n.Entries = append(n.Entries, tree.Entry{Key: e.Key.Value(), KeyPos: startOf(e.Key), Value: fromYAML(e.Value)})
		}
	case yamlx.Sequence:
		n.Kind = tree.Seq
		for _, it := range y.Items() {
			n.Items = append(n.Items, fromYAML(it))
		}
	}
	return n
}

// loadINI reads INI and the tables of TOML.
func (in *input) loadINI(src []byte) bool {
	sections, _ := tree.ParseINI(src)
	root := &tree.Node{Kind: tree.Map, Pos: tree.Pos{Line: 1, Col: 1}}
	for _, s := range sections {
		m := &tree.Node{Kind: tree.Map, Pos: s.Pos, Entries: s.Props}
		root.Entries = append(root.Entries, tree.Entry{Key: s.Name, KeyPos: s.Pos, Value: m})
	}
	in.addDoc(root)
	return true
}

// A template engine by its marks. Argo ({{inputs...}}) and GitHub (${{ }}) write marks
// of their own inside quoted strings of valid files; those are left alone.
var (
	helmMark  = regexp.MustCompile(`\{\{-?\s*(/\*|\.(Values|Release|Chart|Capabilities|Files|Template)|\$?\.|(include|template|toYaml|if|else|end|range|with|define|tpl|default|required|printf|quote|lookup)\b|\$\w+\s*:?=)`)
	jinjaMark = regexp.MustCompile(`\{%-?\s*\w+|\{#.*#\}`)
	erbMark   = regexp.MustCompile(`<%[=-]?[^%]*%>`)
	bareMark  = regexp.MustCompile(`(^|[^$'"{])\{\{[^{]`)
	argoMark  = regexp.MustCompile(`\{\{=?-?\s*(inputs|outputs|workflow|steps|tasks|item|pod|node|retries|lastRetry|parameters|sprig)\b`)
)

// templated finds the first mark of a template engine outside comments.
func templated(src []byte) (at tree.Pos, what string, ok bool) {
	if !bytes.Contains(src, []byte("{{")) && !bytes.Contains(src, []byte("{%")) && !bytes.Contains(src, []byte("<%")) {
		return at, "", false
	}
	for _, l := range tree.Lines(src) {
		if strings.HasPrefix(strings.TrimSpace(l.Text), "#") {
			continue
		}
		for _, m := range []struct {
			re   *regexp.Regexp
			what string
		}{{helmMark, "Go template action {{ ... }}"}, {jinjaMark, "Jinja statement {% ... %}"}, {erbMark, "ERB tag <% ... %>"}, {bareMark, "template expression {{ ... }}"}} {
			loc := m.re.FindStringIndex(l.Text)
			if loc == nil || argoMark.MatchString(l.Text) || m.re == helmMark && strings.Contains(l.Text[:loc[0]+1], "${") {
				continue
			}
			return tree.Pos{Line: l.N, Col: len([]rune(l.Text[:loc[0]])) + 1}, m.what, true
		}
	}
	return at, "", false
}

// retryingKind matches objects whose hidden defaults matter even without a word on them.
var retryingKind = regexp.MustCompile(`(?m)^\s*"?kind"?:\s*"?(VirtualService|DestinationRule|HTTPRoute|GRPCRoute|Ingress|HTTPProxy|Mapping|BackendTrafficPolicy|ServiceProfile|` +
	`MeshRetry|Resiliency|Job|CronJob|Workflow|WorkflowTemplate|CronWorkflow|Pipeline|PipelineRun|Broker|Trigger|Middleware|RouteTable|VirtualRouter)\b`)

// templateWord matches a template that has to do with retries.
var templateWord = regexp.MustCompile(`(?i)retr(y|ies)|attempts|next_?-?upstream|redeliver|max_?-?deliver|delivery-?limit|backoff|redrive|maxreceive`)

// template refuses a template: with a finding when it mentions retries. One that has
// nothing to do with them is skipped.
func (in *input) template(at tree.Pos, what string) {
	if src := in.file.Source; !templateWord.Match(src) && !retryingKind.Match(src) {
		in.file.Reason = "a template without a word on retries"
		return
	}
	in.file.unread(at, "%s, not plain configuration; render it first (helm template, kustomize build, ...), a number is never guessed", what)
	if templateWord.Match(in.file.Source) || retryingKind.Match(in.file.Source) {
		in.fact("unparsed-template", at, nil, "%s: the file is a template and its numbers are not known before it is rendered", what)
	}
}

// isPatch sees a JSON6902 patch: a list of operations on paths.
func isPatch(docs []*doc) bool {
	for _, d := range docs {
		items := d.root.List()
		if len(items) == 0 {
			return false
		}
		for _, it := range items {
			if it.Get("op").Str() == "" || !strings.HasPrefix(it.Get("path").Str(), "/") {
				return false
			}
		}
	}
	return len(docs) > 0
}

// kustomized refuses a kustomization whose patches touch retries, and an object that is
// a strategic merge patch by its directive.
func (in *input) kustomized() bool {
	for _, d := range in.docs {
		at, what := tree.Pos{}, ""
		d.root.Walk(func(_ []string, n *tree.Node) bool {
			if e := n.Entry("$patch"); e != nil && what == "" {
				at, what = e.KeyPos, "a strategic merge patch ($patch), not a whole object"
			}
			return what == ""
		})
		if d.kind == "Kustomization" && what == "" {
			for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
				d.root.Get(key).Walk(func(_ []string, n *tree.Node) bool {
					if what == "" && (retryWord.MatchString(n.Str()) || in.touchesRetries(n)) {
						at, what = n.Pos, "a kustomization that patches retries"
					}
					return what == ""
				})
			}
		}
		if what != "" && retryWord.Match(in.file.Source) {
			in.file.unread(at, "%s; build the overlay first (kustomize build), a number is never guessed", what)
			in.fact("unparsed-template", at, nil, "%s: the result is not known before the overlay is built", what)
			return true
		}
	}
	return false
}

// patch refuses a patch that changes retries or time limits.
func (in *input) patch() {
	for _, d := range in.docs {
		for _, it := range d.root.List() {
			if p := it.Get("path").Str(); retryWord.MatchString(p) || strings.Contains(strings.ToLower(p), "timeout") || in.touchesRetries(it.Get("value")) {
				at := it.Get("path").At()
				in.file.unread(at, "a JSON6902 patch, not a whole object, and it changes retries; build the overlay first (kustomize build)")
				in.fact("unparsed-template", at, nil, "a patch changes %s: the result is not known before the overlay is built", p)
				return
			}
		}
	}
	in.file.Reason = "a patch that changes no retry setting"
}

// touchesRetries reports a key with a retry word below n.
func (in *input) touchesRetries(n *tree.Node) bool {
	found := false
	n.Walk(func(_ []string, n *tree.Node) bool {
		for _, e := range n.Map() {
			found = found || retryWord.MatchString(e.Key)
		}
		return !found
	})
	return found
}

// codeKinds are languages, by extension, whose settings are not read.
var codeKinds = map[string]string{".py": "Python", ".go": "Go", ".java": "Java", ".kt": "Kotlin", ".scala": "Scala", ".cs": "C#", ".js": "JavaScript", ".mjs": "JavaScript",
	".ts": "TypeScript", ".rb": "Ruby", ".rs": "Rust", ".php": "PHP", ".tf": "Terraform", ".hcl": "HCL", ".cue": "CUE", ".jsonnet": "Jsonnet", ".libsonnet": "Jsonnet",
	".sh": "shell", ".groovy": "Groovy", ".gradle": "Gradle", ".ex": "Elixir", ".clj": "Clojure", ".swift": "Swift", ".c": "C", ".cc": "C++", ".cpp": "C++", ".dhall": "Dhall"}

func codeFile(name string, src []byte) string { return codeKinds[strings.ToLower(path.Ext(name))] }

var (
	pythonMark = regexp.MustCompile(`(?m)^(import \w+|from \S+ import |def \w+\(|class \w+[(:])|=\s*(None|True|False)\s*(#.*)?$|[:{,]\s*(None|True|False)\b`)
	goMark     = regexp.MustCompile(`(?m)^package \w+\s*$`)
	javaMark   = regexp.MustCompile(`(?m)^(import [\w.]+;|public (final )?class )|^@\w+\(`)
	hclMark    = regexp.MustCompile(`(?m)^(resource|module|variable|provider|data|locals)\s+("[^"]+"\s*)*\{`)
)

// codeByContent names the language of a text that no parser takes, or gives "".
func codeByContent(src []byte) string {
	switch {
	case goMark.Match(src):
		return "Go"
	case javaMark.Match(src):
		return "Java"
	case hclMark.Match(src):
		return "Terraform"
	case pythonMark.Match(src):
		return "Python"
	}
	return ""
}

// code handles program code: refused when it mentions retries, else skipped.
func (in *input) code(src []byte, language string) {
	f := in.file
	for _, l := range tree.Lines(src) {
		if col, ok := wordColumn(l.Text); ok {
			at := tree.Pos{Line: l.N, Col: col}
			f.unread(at, "%s is code, not data: state the values in a statements file", language)
			in.fact("unsupported-format", at, nil, "%s is code, not data: state the values in a statements file", language)
			return
		}
	}
	f.Reason = fmt.Sprintf("%s code without a retry setting", language)
}
