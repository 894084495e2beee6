package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// awsConfigReader reads the shared configuration file of the AWS SDKs and the two
// environment variables, in .env files and in container definitions.
// Source: botocore config.py, aws-sdk-go-v2 aws/retry; SDKs and tools reference guide.
var awsConfigReader = &Reader{
	Name:    "aws-config",
	Title:   "AWS SDK shared configuration file, AWS_MAX_ATTEMPTS and AWS_RETRY_MODE",
	Objects: []string{"[default]", "[profile NAME]", "AWS_MAX_ATTEMPTS"},
	Samples: []Reading{{Setting: "max_attempts in ~/.aws/config", Counts: "all", Name: "config", Text: `[default]
region = eu-west-1
retry_mode = standard
max_attempts = @N@
`}},
	claims: func(d *doc) bool { return len(awsSections(d.root)) > 0 },
	whole: func(in *input) bool {
		return hasAny(in.file.Source, "AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE")
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			for _, s := range awsSections(d.root) {
				name := strings.TrimSpace(strings.TrimPrefix(s.Key, "profile "))
				in.awsRetry(in.hop("aws.shared-config", name, s.KeyPos), s.Value.Get("max_attempts"), s.Value.Get("retry_mode"))
			}
		}
		in.awsEnv()
	},
}

// awsSections finds the sections of an INI file that set retries.
func awsSections(root *tree.Node) []tree.Entry {
	var out []tree.Entry
	for _, e := range root.Map() {
		if (e.Key == "default" || strings.HasPrefix(e.Key, "profile ") || strings.HasPrefix(e.Key, "services ")) && e.Value.Is(tree.Map) &&
			(e.Value.Get("max_attempts").Is(tree.Scalar) || e.Value.Get("retry_mode").Is(tree.Scalar)) {
			out = append(out, e)
		}
	}
	return out
}

// awsEnv reads the variables of flat files and of env lists and mappings.
func (in *input) awsEnv() {
	for _, d := range in.flat {
		p := props(d)
		in.awsVariables("environment", unquoted(p.get("AWS_MAX_ATTEMPTS")), unquoted(p.get("AWS_RETRY_MODE")))
	}
	for _, d := range in.docs {
		label := d.name
		if label == "" {
			label = "environment"
		}
		d.root.Walk(func(path []string, n *tree.Node) bool {
			if len(path) > 0 && strings.HasPrefix(path[0], "x-") {
				return false // an extension of a compose file, which others include
			}
			label := label
			if len(path) > 1 && path[0] == "services" && d.version == "" {
				label = path[1]
			}
			if in.syn != synINI {
				in.awsVariables(label, n.Get("AWS_MAX_ATTEMPTS"), n.Get("AWS_RETRY_MODE"))
			}
			var attempts, mode *tree.Node
			for _, it := range n.List() {
				switch it.Get("name").Str() {
				case "AWS_MAX_ATTEMPTS":
					attempts = it.Get("value")
				case "AWS_RETRY_MODE":
					mode = it.Get("value")
				}
				if v, ok := strings.CutPrefix(it.Str(), "AWS_MAX_ATTEMPTS="); ok {
					attempts = &tree.Node{Kind: tree.Scalar, Text: v, Pos: it.Pos}
				}
				if v, ok := strings.CutPrefix(it.Str(), "AWS_RETRY_MODE="); ok {
					mode = &tree.Node{Kind: tree.Scalar, Text: v, Pos: it.Pos}
				}
			}
			in.awsVariables(label, attempts, mode)
			return true
		})
	}
}

// awsVariables reads the two variables where at least one is set.
func (in *input) awsVariables(label string, attempts, mode *tree.Node) {
	at := attempts
	if at == nil {
		at = mode
	}
	if at != nil {
		in.awsRetry(in.hop("aws.environment", label, at.Pos), attempts, mode)
	}
}

// unquoted takes the quotes of a shell off a value.
func unquoted(n *tree.Node) *tree.Node {
	if n == nil || len(n.Text) < 2 || n.Text[0] != n.Text[len(n.Text)-1] || n.Text[0] != '"' && n.Text[0] != '\'' {
		return n
	}
	c := *n
	c.Text = n.Text[1 : len(n.Text)-1]
	return &c
}

func (in *input) awsRetry(h *Hop, attempts, mode *tree.Node) {
	m := strings.ToLower(mode.Str())
	def := int64(3)
	switch m {
	case "legacy":
		def = 5
		h.Waits = Backoff{Growth: Exponential, Base: time.Second, Factor: 2, Low: 0, High: 1, Jitter: true, Source: "rand * 2^(n-1) s"}
	case "", "standard", "adaptive":
		h.Waits = Backoff{Growth: Exponential, Base: time.Second, Factor: 2, Max: 20 * time.Second, Low: 0, High: 1, Jitter: true, Source: "rand * min(2^(n-1), 20) s"}
		h.Budget = &Budget{Kind: "quota", MaxTokens: 500}
	default:
		if !in.outside(h, "retry_mode", mode) {
			in.refuse(h, mode.At(), "retry_mode %q is not legacy, standard or adaptive", m)
		}
	}
	n := in.count(h, "max_attempts", attempts, loose)
	h.total("max_attempts", n, def)
	switch {
	case n != nil && *n < 1:
		in.refuse(h, attempts.At(), "max_attempts must be 1 or more, found %d", *n)
	case n != nil:
		in.fact("ambiguous-count", attempts.At(), h, "max_attempts %d is read as %d in all; the same name in botocore Config(retries=...) counts the attempts after the first", *n, *n)
	case h.Undecided != "" || h.Refused != "":
		h.Attempts = nil
	default:
		h.Default = true
		h.hidden("%d attempts in all", def)
		in.fact("version-dependent-default", mode.At(), h, "max_attempts absent: %d in all; legacy mode of botocore 5, DynamoDB 10, newer rules 3 and 4", def)
	}
	if m == "adaptive" {
		h.note("the client rate limiter may delay the first attempt too")
	}
	if h.Undecided == "" {
		h.Undecided = "the limit of one attempt is the socket timeout of the SDK, which the file does not name"
	}
	h.MayHaveRun = Yes
}
