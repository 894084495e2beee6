package retryconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// statementReader reads a statements file: settings that live in code, stated by the
// reviewer as values. The kind decides the reading.
var statementReader = &Reader{
	Name:    "statements",
	Title:   "statements of settings that live in code",
	Objects: []string{"relplan: v1 with statements:"},
	Samples: []Reading{
		stated("botocore-config", "max_attempts", "after the first"), stated("aws-sdk-go-v2", "max_attempts", "all"), stated("polly", "max_retry_attempts", "after the first"),
		stated("spring-retry", "max_attempts", "all"), stated("spring-7-retryable", "max_retries", "after the first"), stated("spring-kafka-fixed-backoff", "max_attempts", "after the first"),
		stated("feign", "max_attempts", "all"), stated("azure-core-go", "max_retries", "after the first"), stated("temporal", "maximum_attempts", "all"),
		stated("celery", "max_retries", "after the first"), stated("sidekiq", "retry", "after the first"), stated("bullmq", "attempts", "all"),
		stated("go-retryablehttp", "retry_max", "after the first"), stated("urllib3", "total", "after the first"), stated("gax-java", "max_attempts", "all"),
		stated("airflow", "retries", "after the first"),
	},
	claims: func(d *doc) bool { return d.root.Has("relplan") && d.root.Has("statements") },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.statements(d.root)
		}
	},
}

func stated(kind, key, counts string) Reading {
	return Reading{Setting: key + " of " + kind, Counts: counts, Name: "statements.yaml",
		Text: "relplan: v1\nstatements:\n- hop: a->b\n  kind: " + kind + "\n  per_try: 1s\n  " + key + ": @N@\n"}
}

// quantityGrammar is the spelling of durations in files of this program.
var quantityGrammar = grammar{"a duration such as 300ms or 1m30s", func(s string, _ bool) (time.Duration, error) {
	d, err := quantity.ParseDuration(s)
	if err != nil {
		return 0, err
	}
	if d < 0 {
		return 0, fmt.Errorf("negative")
	}
	return d, nil
}}

// statementKeys stand beside the keys of the kind.
var statementKeys = []string{"hop", "kind", "from", "to", "per_try", "overall", "delay", "factor", "max_delay", "jitter", "methods", "on", "timeout_retried", "processing", "visibility", "dead_letter"}

func (in *input) statements(root *tree.Node) {
	if v := root.Get("relplan"); v.Str() != "v1" {
		in.file.unread(v.At(), "expected version v1, found %q", v.Str())
		return
	}
	for _, e := range root.Map() {
		if e.Key != "relplan" && e.Key != "statements" {
			in.file.unread(e.KeyPos, "a statements file has no key %q", e.Key)
			return
		}
	}
	list := root.Get("statements")
	if !list.Is(tree.Seq) {
		in.file.unread(root.Entry("statements").KeyPos, "statements must be a list")
		return
	}
	byHop := map[string][]*Hop{}
	for i, s := range list.Items {
		if !in.statement(i, s, byHop) {
			return
		}
	}
	for _, s := range list.Items {
		if hs := byHop[s.Get("hop").Str()]; len(hs) > 1 {
			in.stackedStatements(hs)
			delete(byHop, s.Get("hop").Str())
		}
	}
}

// stackedStatements: two layers that retry one call multiply.
func (in *input) stackedStatements(hs []*Hop) {
	product, kinds, retrying := int64(1), []string{}, 0
	for _, h := range hs {
		if h.Retries() {
			retrying++
			product = mulCap(product, max(or(h.Attempts, 1), 1))
			kinds = append(kinds, fmt.Sprintf("%s (%s)", strings.TrimPrefix(h.Kind, "statement."), h.AttemptsText()))
		}
	}
	if retrying > 1 {
		f := in.fact("stacked-retries-same-edge", tree.Pos{}, hs[0], "%s retry the same call: together %d attempts", strings.Join(kinds, " and "), product)
		f.Value = fmt.Sprint(product)
	}
}

// statement reads one statement; a mistake in its form refuses the file, as in every
// file of this program.
func (in *input) statement(i int, s *tree.Node, byHop map[string][]*Hop) bool {
	name, kindName := s.Get("hop").Str(), s.Get("kind").Str()
	switch {
	case !s.Is(tree.Map):
		in.file.unread(s.At(), "a statement is a mapping such as {hop: pay->bank, kind: botocore-config, max_attempts: 4}")
		return false
	case name == "" || kindName == "":
		in.file.unread(s.At(), "statement %d needs hop and kind", i+1)
		return false
	}
	k, ok := statementKinds[kindName]
	if !ok {
		msg := "expected one of " + strings.Join(StatementKinds(), ", ")
		if near, found := diag.Closest(kindName, StatementKinds()); found {
			msg = "did you mean " + near + "?"
		}
		in.file.unread(s.Get("kind").At(), "kind %q is not known: %s", kindName, msg)
		return false
	}
	for _, e := range s.Map() {
		if !slices.Contains(statementKeys, e.Key) && !slices.Contains(k.keys(), e.Key) {
			in.file.unread(e.KeyPos, "a statement of kind %s has no key %q, expected %s", kindName, e.Key, strings.Join(append(k.keys(), statementKeys...), ", "))
			return false
		}
	}
	h := in.hop("statement."+kindName, name, s.Pos)
	byHop[name] = append(byHop[name], h)
	if from, to, found := strings.Cut(name, "->"); found {
		h.From, h.To = []string{strings.TrimSpace(from)}, []string{strings.TrimSpace(to)}
	}
	for key, list := range map[string]*[]string{"from": &h.From, "to": &h.To, "methods": &h.Methods, "on": &h.Conditions} {
		if n := s.Get(key); n != nil {
			*list = words(n, ",")
		}
	}
	in.statementHop(h, k, s)
	return true
}

func (in *input) statementHop(h *Hop, k statementKind, s *tree.Node) {
	h.Class, h.OverallKnown, h.MayHaveRun = k.class, true, Yes
	in.statementCount(h, k, s)
	h.perTry(or2(in.duration(h, "per_try", s.Get("per_try"), quantityGrammar), k.perTry))
	h.Overall = or2(in.duration(h, "overall", s.Get("overall"), quantityGrammar), k.overall)
	h.EndedOutside = k.class == Job || k.class == Queue
	h.TimeoutRetried = Yes
	if n := s.Get("timeout_retried"); n != nil && !truth(n) {
		h.TimeoutRetried = No
	}
	h.Waits = k.waits
	in.statementWaits(h, s)
	if h.PerTry == nil && k.class == Request && h.Retries() {
		h.note("no per_try stated: an attempt that hangs never ends, as far as the file says")
	}
	visibility, processing := in.duration(h, "visibility", s.Get("visibility"), quantityGrammar), in.duration(h, "processing", s.Get("processing"), quantityGrammar)
	if visibility != nil && processing != nil && *visibility < *processing {
		f := in.fact("visibility-shorter-than-processing", s.Get("visibility").At(), h, "the message is visible again after %v, while processing takes %v: a second delivery starts while the first runs", *visibility, *processing)
		f.Value, f.Limit = visibility.String(), processing.String()
	}
	if d := s.Get("dead_letter"); d != nil && h.Class == Queue {
		h.DeadLetter = Yes
		if !truth(d) {
			h.DeadLetter = No
			in.fact("missing-dead-letter", d.At(), h, "a message whose attempts are used up is gone")
		}
	}
	if k.note != "" {
		h.note("%s", k.note)
	}
}

func or2[T any](p, def *T) *T {
	if p == nil {
		return def
	}
	return p
}

// statementCount applies the reading of the kind to its count.
func (in *input) statementCount(h *Hop, k statementKind, s *tree.Node) {
	if k.product {
		a, b := in.count(h, k.key, s.Get(k.key), counts), in.count(h, k.second, s.Get(k.second), counts)
		h.product(or(a, 0), or(b, 1))
		return
	}
	key, node, total := k.key, s.Get(k.key), k.total
	if n := s.Get(k.second); k.second != "" && n != nil {
		key, node, total = k.second, n, true
	}
	if node != nil && (node.Kind == tree.Null || node.Str() == "none" || node.Str() == "None" || node.Str() == "unlimited") && k.noneForever {
		h.Unbounded, h.Written = true, key+" none = no limit"
		return
	}
	if node != nil && !node.Quoted && node.Str() == "false" && k.falseOff {
		h.attempts(1)
		h.Written = key + " false = off"
		return
	}
	n := in.count(h, key, node, number{Min: -1, Max: 1<<31 - 1})
	switch {
	case n == nil && h.Refused != "":
	case n == nil && k.absent < 0:
		h.Unbounded, h.Written = true, key+" absent = no limit"
		h.hidden("no limit on the count")
	case n == nil:
		h.attempts(k.absent)
		h.Written = fmt.Sprintf("%s absent: %d in all", key, k.absent)
		if k.absent > 1 {
			h.Default = true
			h.hidden("%d attempts in all", k.absent)
			in.fact("implicit-default-retry", tree.Pos{}, h, "no %s: %d attempts by default", key, k.absent)
		}
	case *n == -1 && k.minus != nil:
		k.minus(in, h, key, node)
	case *n == -1:
		in.refuse(h, node.At(), "%s -1 is refused", key)
	case *n == 0 && k.zero != nil:
		k.zero(in, h, key, node)
	case total && *n < 1:
		in.refuse(h, node.At(), "%s counts all attempts and must be 1 or more, found %d", key, *n)
	case total:
		h.total(key, n, 0)
	default:
		h.retries(key, n, 0)
	}
	in.statementLimits(h, k, key, node, n)
}

// statementLimits: what is refused above a maximum, and what is lowered without a word.
func (in *input) statementLimits(h *Hop, k statementKind, key string, node *tree.Node, n *int64) {
	if n == nil {
		return
	}
	if k.max > 0 && *n > k.max {
		in.refuse(h, node.At(), "%s %d is above %d, which is refused", key, *n, k.max)
	}
	if k.cap > 0 && h.Attempts != nil && *h.Attempts > k.cap {
		f := in.fact("capped-attempts", node.At(), h, "%s %d counts as %d", key, *n, k.cap)
		f.Value, f.Limit = fmt.Sprint(*n), fmt.Sprint(k.cap)
		h.attempts(k.cap)
	}
	if k.ambiguous != "" {
		in.fact("ambiguous-count", node.At(), h, "%s %d is read as %s attempts in all: %s", key, *n, h.AttemptsText(), k.ambiguous)
	}
	if k.otherMeaning != "" {
		in.fact("off-by-one-migration", node.At(), h, "%s", k.otherMeaning)
	}
}

// statementWaits replaces the waits of the kind by stated ones.
func (in *input) statementWaits(h *Hop, s *tree.Node) {
	delay := in.duration(h, "delay", s.Get("delay"), quantityGrammar)
	if delay != nil {
		h.Waits.Base, h.Waits.Explicit, h.Waits.Open = *delay, true, false
		if h.Waits.Growth == NoWait || h.Waits.Growth == Listed {
			h.Waits.Growth = Constant
		}
	}
	if f := s.Get("factor"); f != nil {
		h.Waits.Factor = in.float(h, "factor", f, 2)
		h.Waits.Growth = Exponential
		if h.Waits.Factor <= 1 {
			h.Waits.Growth = Constant
		}
	}
	if d := in.duration(h, "max_delay", s.Get("max_delay"), quantityGrammar); d != nil {
		h.Waits.Max = *d
		if delay != nil && *d < *delay {
			in.fact("backoff-base-over-max", s.Get("max_delay").At(), h, "delay %v is above max_delay %v: every wait is the maximum", *delay, *d)
		}
	}
	switch j := s.Get("jitter").Str(); j {
	case "":
	case "full", "true":
		h.Waits.Low, h.Waits.High, h.Waits.Jitter = 0, 1, true
	case "none", "false":
		h.Waits.Low, h.Waits.High, h.Waits.Jitter = 0, 0, false
	case "equal":
		h.Waits.Low, h.Waits.High, h.Waits.Jitter = 0.5, 1, true
	default:
		in.refuse(h, s.Get("jitter").At(), "jitter %q is not full, equal or none", j)
	}
}
