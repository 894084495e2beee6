package retryconfig

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// MaxBytes is the size up to which a file is read: 8 MiB.
const MaxBytes = 8 << 20

// Parse reads the retry settings of one file. name is used for messages and, where
// the content does not decide (program code), as a hint; "<stdin>" is fine. Parse
// never fails: what cannot be read is said in the result.
func Parse(name string, src []byte) *File {
	f := &File{Path: name, Source: src}
	in := &input{file: f}
	if in.load(src) {
		in.dispatch()
	}
	f.done()
	return f
}

// ParseNamed is Parse for a file that somebody asks for by name. There, what Parse
// skips because no reader finds anything of its own in it is Unread, with the reason.
func ParseNamed(name string, src []byte) *File {
	f := &File{Path: name, Source: src}
	in := &input{file: f, named: true}
	if in.load(src) {
		in.dispatch()
	}
	f.done()
	if f.Status == Skipped && !in.known {
		f.unread(tree.Pos{}, "%s", f.Reason)
	}
	return f
}

// load recognises the syntax and builds the documents. It reports false when the
// file is skipped or refused.
func (in *input) load(src []byte) bool {
	f := in.file
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(src)) == 0:
		f.Reason = "empty file"
		return false
	case bytes.IndexByte(src[:min(len(src), 8000)], 0) >= 0:
		f.Reason = "binary file"
		return false
	case !in.named && !mentions(src):
		f.Reason = "nothing in it that a product retries by"
		return false
	case len(src) > MaxBytes:
		f.unread(tree.Pos{}, "larger than %d bytes", MaxBytes)
		return false
	case generated[path.Base(strings.ReplaceAll(f.Path, `\`, "/"))]:
		f.Reason = "written by a package manager"
		return false
	}
	if why := codeFile(f.Path, src); why != "" {
		in.code(src, why)
		return false
	}
	if isProse(f.Path) {
		f.Reason = "a text for people, not a configuration"
		return false
	}
	return in.parse(src)
}

// mentions is the cheap look at a file that has nothing to do with retries: it must
// let everything through that some reader claims.
func mentions(src []byte) bool {
	for _, w := range commonHints {
		if bytes.Contains(src, w) {
			return true
		}
	}
	return hint.Match(src)
}

// commonHints are words that hint takes, too: most files have one of them.
var commonHints = [][]byte{[]byte("kind"), []byte("retr"), []byte("Retr"), []byte("timeout")}

var hint = regexp.MustCompile(`(?i)relplan|retr[iy]|attempt|hedg|redeliver|redrive|max_?deliver|delivery-limit|deliver|backoff|kind|services?:|proxy_pass|reverse_proxy|` +
	`[a-z]+_pass|upstream|AWS::|States|backend|listen|producer|Route|virtual_?hosts|consumer|AttemptTimeout|TotalRequestTimeout|jobs:|apiVersion|bootstrap|acks|queue|durable|ack_|timeout`)

// generated are files whose words say nothing about retries.
var generated = map[string]bool{"package.json": true, "package-lock.json": true, "pnpm-lock.yaml": true, "yarn.lock": true, "composer.json": true,
	"composer.lock": true, "go.sum": true, "Cargo.lock": true, "poetry.lock": true, "Gemfile.lock": true, "tsconfig.json": true}

func isProse(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".rst", ".adoc", ".html", ".htm", ".svg", ".csv", ".log", ".diff", ".patch":
		return true
	}
	return false
}

// parse tries the syntaxes in the order of their certainty.
func (in *input) parse(src []byte) bool {
	in.text = nil
	switch in.syn = sniff(src); in.syn {
	case synNginx, synHAProxy, synCaddy:
		in.text = tree.Lines(src)
		if at, what, ok := templated(src); ok {
			in.template(at, what)
			return false
		}
		return true
	case synProperties:
		if why := codeByContent(src); why != "" {
			in.code(src, why)
			return false
		}
		docs, _ := tree.ParseProperties(src)
		in.flat = docs
		return true
	case synINI:
		return in.loadINI(src)
	}
	return in.loadTree(src)
}

// loadTree reads YAML and JSON.
func (in *input) loadTree(src []byte) bool {
	at, what, isTemplate := templated(src)
	trim := bytes.TrimSpace(src)
	if c := trim[0]; c == '{' || c == '[' || bytes.HasPrefix(trim, []byte("//")) || bytes.HasPrefix(trim, []byte("/*")) {
		root, err := tree.ParseJSON(src)
		if err == nil {
			in.syn = synJSON
			in.addDoc(root)
			return in.checkTemplates(at, what, isTemplate)
		}
		if !isTemplate && (c == '{' || c == '/') && looksJSON(trim) || strings.Contains(err.Error(), "nested deeper") {
			in.broken(err)
			return false
		}
	}
	roots, err := parseYAML(in.file.Path, src)
	in.syn = synYAML
	switch {
	case err != nil && isTemplate:
		in.template(at, what)
		return false
	case err != nil:
		if why := codeByContent(src); why != "" {
			in.code(src, why)
			return false
		}
		in.broken(err)
		return false
	case len(roots) == 0:
		in.file.Reason = "comments only, no document"
		return false
	}
	for _, r := range roots {
		in.addDoc(r)
	}
	return in.checkTemplates(at, what, isTemplate)
}

// checkTemplates refuses a file that is valid by chance and still a template.
func (in *input) checkTemplates(at tree.Pos, what string, isTemplate bool) bool {
	if isTemplate {
		in.template(at, what)
		return false
	}
	if isPatch(in.docs) {
		in.patch()
		return false
	}
	return !in.kustomized()
}

func (in *input) addDoc(root *tree.Node) {
	if root.Is(tree.Map) && root.Get("kind").Str() == "List" && root.Get("items").Is(tree.Seq) {
		for _, it := range root.Get("items").Items {
			in.addDoc(it)
		}
		return
	}
	d := &doc{root: root, index: len(in.docs)}
	api := root.Get("apiVersion").Str()
	d.kind = root.Get("kind").Str()
	if g, v, ok := strings.Cut(api, "/"); ok {
		d.group, d.version = g, v
	} else {
		d.version = api
	}
	meta := root.Get("metadata")
	d.name, d.namespace = meta.Get("name").Str(), meta.Get("namespace").Str()
	if d.name == "" {
		d.name = meta.Get("generateName").Str()
	}
	in.docs = append(in.docs, d)
}

// id is namespace/name, the namespace default when absent.
func (d *doc) id() string { return d.ns() + "/" + d.name }

func (d *doc) ns() string {
	if d.namespace == "" {
		return "default"
	}
	return d.namespace
}

// is reports a Kubernetes object of a group (or one of its subgroups) and kind.
func (d *doc) is(group string, kinds ...string) bool {
	return d.group == group && slices.Contains(kinds, d.kind)
}

// broken refuses a file that no parser takes; it is worth a finding only when it
// mentions retries.
func (in *input) broken(err error) {
	at := tree.Pos{}
	if e, ok := err.(*tree.Error); ok {
		at = e.Pos
		in.file.unread(at, "%s", e.Message)
	} else {
		in.file.unread(at, "%v", err)
	}
	in.unmodelledWord("the file is not readable, so nothing is known about its retries")
}

// retryWord matches a key (or a name) that speaks of retries.
var retryWord = regexp.MustCompile(`(?i)(^|[^a-z])(retr(y|ies|ying)|max_?-?attempts?|max_?retries|max_?retry|backoff_?limit|retry_?-?policy|redeliver|redelivery|redrive)|(Retry|Retries|MaxAttempts|Redeliver)`)

// wordColumn gives the column of the first retry word of a line.
func wordColumn(text string) (col int, ok bool) {
	loc := retryWord.FindStringIndex(text)
	if loc == nil {
		return 0, false
	}
	at := loc[0]
	if r, size := utf8.DecodeRuneInString(text[at:]); !unicode.IsLetter(r) {
		at += size
	}
	return utf8.RuneCountInString(text[:at]) + 1, true
}

// unmodelledWord records the first line with a retry word.
func (in *input) unmodelledWord(format string, args ...any) {
	for _, l := range tree.Lines(in.file.Source) {
		if col, ok := wordColumn(l.Text); ok {
			in.fact("unmodelled-mechanism", tree.Pos{Line: l.N, Col: col}, nil, format, args...)
			return
		}
	}
}

// dispatch gives the documents to every reader that claims some.
func (in *input) dispatch() {
	for _, r := range readers {
		var mine []*doc
		if r.claims != nil {
			for _, d := range in.docs {
				if r.claims(d) {
					d.claimed = true
					mine = append(mine, d)
				}
			}
		}
		if len(mine) > 0 || r.whole != nil && r.whole(in) {
			in.known = true
			for _, d := range in.docs {
				d.claimed = d.claimed || r.whole != nil && len(mine) == 0
			}
			in.scope = r.refusal
			r.read(in, mine)
		}
		if in.file.Status == Unread {
			return
		}
	}
	if _, _, rank := settingsRank(in.file.Path); rank > 0 {
		in.file.settings, _ = in.layers()
	}
	in.unclaimed()
}

// unclaimed reports retry words that no reader understood.
func (in *input) unclaimed() {
	f := in.file
	if in.under != nil {
		return // the words that no reader knows were seen in the file below
	}
	if in.settled != "" && len(f.Hops) == 0 {
		f.Reason = in.settled
		return
	}
	if len(in.docs) == 0 && len(f.Hops) == 0 {
		f.Reason = "no retry configuration of a known product"
		in.unmodelledWord("a setting that no reader knows: state its values, or report the product")
		if len(f.Facts) > 0 {
			f.unread(tree.Pos{Line: f.Facts[0].Line, Col: f.Facts[0].Column}, "no reader for this retry setting")
		}
		return
	}
	in.unknownProps()
	for _, d := range in.docs {
		if d.kind == "ConfigMap" && !isMeshMap(d) {
			in.embedded(d)
		}
		if d.claimed || quietKinds[d.kind] && d.version != "" {
			in.known = true
			continue
		}
		in.unclaimedDoc(d)
	}
	if len(f.Hops) == 0 && f.Reason == "" {
		f.Reason = "no retry setting in it"
		if i := slices.IndexFunc(f.Facts, func(x Fact) bool { return x.Rule == "unmodelled-mechanism" }); i >= 0 {
			f.unread(tree.Pos{Line: f.Facts[i].Line, Col: f.Facts[i].Column}, "no reader for this retry setting")
		}
	}
}

// quietKinds are Kubernetes objects whose own fields never retry, whatever words their
// data hold.
var quietKinds = map[string]bool{"ConfigMap": true, "Secret": true, "CustomResourceDefinition": true, "Namespace": true, "Role": true, "ClusterRole": true,
	"RoleBinding": true, "ClusterRoleBinding": true, "ServiceAccount": true, "Deployment": true, "StatefulSet": true, "DaemonSet": true, "Service": true,
	"PersistentVolumeClaim": true, "NetworkPolicy": true, "PodDisruptionBudget": true, "HorizontalPodAutoscaler": true, "PrometheusRule": true}

// unclaimedDoc reports the first retry key of a document that nobody read.
func (in *input) unclaimedDoc(d *doc) {
	in.unknownSetting(d.root, "a retry setting that no reader knows")
}

// unknownSetting reports the first retry key below a node that no reader takes.
func (in *input) unknownSetting(root *tree.Node, what string) {
	found := false
	root.Walk(func(path []string, n *tree.Node) bool {
		if len(path) > 0 && strings.EqualFold(strings.ReplaceAll(path[len(path)-1], "_", ""), "healthcheck") {
			return false // how often a probe fails before the state changes
		}
		for _, e := range n.Map() {
			if !found && retryWord.MatchString(e.Key) && !strings.Contains(e.Key, " ") {
				found = true
				in.fact("unmodelled-mechanism", e.KeyPos, nil, "%q is %s: state its values, or report the product", e.Key, what)
			}
		}
		return !found
	})
}
