package plan

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// UseFiles gives the plan a way to read the files it names; paths are relative to
// the working folder.
func (f *File) UseFiles(read func(path string) ([]byte, error)) { f.files = read }

// readFile reads a file that the plan names, relative to the folder of the plan.
func (f *File) readFile(name Value[string]) ([]byte, error) {
	if f.files == nil {
		return nil, errors.New("files cannot be read here")
	}
	src, err := f.files(f.pathOf(name.V))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", f.pathOf(name.V), err)
	}
	return src, nil
}

func (f *File) pathOf(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.Dir, name)
}

// resolve takes the numbers of every call with `from` out of its file, and gives
// every service with `from` the calls that its file decides.
func (f *File) resolve() error {
	if f.resolved {
		return nil
	}
	var l diag.List
	r := resolver{f: f, read: map[string]*retryconfig.File{}, l: &l}
	for _, n := range f.Nodes {
		for _, c := range n.Calls {
			if c.From != nil {
				r.call(c)
			}
		}
		if n.From != nil {
			r.service(n)
		}
	}
	if err := l.Err(); err != nil {
		return err
	}
	f.resolved = true
	return nil
}

// resolver reads each configuration once.
type resolver struct {
	f    *File
	read map[string]*retryconfig.File
	l    *diag.List
}

// hops reads a file; what cannot be read is reported at the place that names it.
func (r *resolver) hops(from *From) []*retryconfig.Hop {
	path := r.f.pathOf(from.File.V)
	file := r.read[path]
	if file == nil {
		src, err := r.f.readFile(from.File)
		if err != nil {
			r.l.Errorf(from.File.Pos, codeRef, "%v", err)
			return nil
		}
		file = retryconfig.Parse(path, src)
		r.read[path] = file
	}
	switch {
	case file.Status != retryconfig.Read:
		r.l.Errorf(from.File.Pos, codeRef, "%s has no retry setting that can be read: %s", path, file.Reason)
	case len(file.Hops) == 0:
		r.l.Errorf(from.File.Pos, codeRef, "%s sets no retries", path)
	}
	return file.Hops
}

// call fills one call from the hop it names, or from the only one that fits.
func (r *resolver) call(c *Call) {
	hops := r.hops(c.From)
	if len(hops) == 0 {
		return
	}
	hop, d := pick(hops, c)
	if d != nil {
		r.l.Add(*d)
		return
	}
	layer, err := layerOf(hop)
	if err != nil {
		r.l.Errorf(c.From.Pos, codeRef, "%v", err)
		return
	}
	c.read = layer
}

// pick finds the hop of a call: by its name, or the one hop of the file, or the
// one hop that calls the service.
func pick(hops []*retryconfig.Hop, c *Call) (*retryconfig.Hop, *diag.Diagnostic) {
	names := make([]string, len(hops))
	for i, h := range hops {
		names[i] = h.Name
	}
	if c.From.Hop.Set {
		if i := slices.Index(names, c.From.Hop.V); i >= 0 {
			return hops[i], nil
		}
		d := &diag.Diagnostic{Code: codeRef, Pos: c.From.Hop.Pos, Message: fmt.Sprintf("%s has no hop '%s', found %s", c.From.File.V, c.From.Hop.V, listed(names))}
		if near, ok := diag.Closest(c.From.Hop.V, names); ok {
			d.Hint = "did you mean: " + near
		}
		return nil, d
	}
	if len(hops) == 1 {
		return hops[0], nil
	}
	var fit []*retryconfig.Hop
	for _, h := range hops {
		if slices.ContainsFunc(h.To, func(to string) bool { return isHost(to, c.To.V) }) {
			fit = append(fit, h)
		}
	}
	if len(fit) == 1 {
		return fit[0], nil
	}
	return nil, &diag.Diagnostic{Code: codeRef, Pos: c.From.Pos,
		Message: fmt.Sprintf("%s has %d hops and %d of them certainly call '%s', expected one", c.From.File.V, len(hops), len(fit), c.To.V),
		Hint:    "name it: from: {file: " + c.From.File.V + ", hop: ...}, one of " + listed(names)}
}

// listed shows a few names.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return "'" + strings.Join(names[:most], "', '") + fmt.Sprintf("' and %d more", len(names)-most)
	}
	return "'" + strings.Join(names, "', '") + "'"
}

// isHost tells whether a host of a configuration is the service of that name: the
// same word, its first label ("orders" for orders.shop.svc.cluster.local), or
// either with a port.
func isHost(host, service string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == service {
		return true
	}
	label, rest, ok := strings.Cut(host, ".")
	return ok && label == service && strings.Contains(rest, "svc")
}

// service gives a service the calls that its file decides: one for every hop
// that retries a call to exactly one host.
func (r *resolver) service(n *Node) {
	known := r.f.services()
	for _, h := range r.hops(n.From) {
		if n.From.Hop.Set && h.Name != n.From.Hop.V {
			continue
		}
		if len(h.To) != 1 || h.Class != retryconfig.Request {
			r.l.Warnf(n.From.Pos, codeRef, "hop '%s' of %s names no single service, so it is no call of '%s'; write the call with `to` and `from`", h.Name, n.From.File.V, n.Name)
			continue
		}
		layer, err := layerOf(h)
		if err != nil {
			r.l.Errorf(n.From.Pos, codeRef, "%v", err)
			continue
		}
		to := h.To[0]
		for _, s := range known {
			if isHost(to, s) {
				to = s
			}
		}
		if slices.ContainsFunc(n.Calls, func(c *Call) bool { return c.To.V == to }) {
			continue // written in the plan
		}
		c := &Call{Pos: n.From.Pos, To: Value[string]{V: to, Set: true, Pos: n.From.Pos}, read: layer}
		n.Calls = append(n.Calls, c)
	}
	for _, d := range r.l.Sorted() {
		if d.Severity != diag.Error {
			r.f.Warnings = append(r.f.Warnings, d)
		}
	}
}

// layerOf turns a hop of a real configuration into a layer. A hop whose count is
// refused by its product or not decided by its file is an error.
func layerOf(h *retryconfig.Hop) (*readLayer, error) {
	where := fmt.Sprintf("%s:%d: %s '%s'", h.File, h.Line, h.Kind, h.Name)
	out := &readLayer{origin: fmt.Sprintf("%s:%d", h.File, h.Line), notes: append(slices.Clone(h.Hidden), h.Notes...)}
	l := retrytree.Layer{Name: h.Kind, Unbounded: h.Unbounded, StopsOnly: h.StopsOnly, TimeoutEnds: h.TimeoutRetried == retryconfig.No}
	switch {
	case h.Refused != "":
		return nil, fmt.Errorf("%s is refused by its product: %s", where, h.Refused)
	case h.Attempts != nil:
		l.Attempts = *h.Attempts
	case h.AttemptsHigh != nil:
		l.Attempts = *h.AttemptsHigh
		out.notes = append(out.notes, "the largest number of attempts that versions leave open was taken")
	case !h.Unbounded:
		return nil, fmt.Errorf("%s does not decide how many attempts are made: %s", where, h.Undecided)
	}
	if h.PerTry != nil && !h.PerTryCopies {
		l.PerTry = *h.PerTry
	}
	if h.Overall != nil {
		l.Overall = *h.Overall
	}
	if h.Waits.Open {
		out.notes = append(out.notes, "the waits are not known and count as none")
	} else if !h.Waits.None() {
		l.Waits = &h.Waits
	}
	if h.LastTryFree {
		out.notes = append(out.notes, "the last attempt has no limit of its own")
	}
	l.Budget = budgetOf(h.Budget, out)
	switch {
	case h.PerTryCopies && h.PerTry != nil:
		l.Hedge = &retrytree.Hedge{Delay: *h.PerTry, Slow: 1}
		out.notes = append(out.notes, "the per-try limit sends a copy and lets the attempt go on")
	case h.Hedge != nil:
		l.Hedge = &retrytree.Hedge{Delay: h.Hedge.Delay, Slow: 1} // how many answers are slow is not in the file: all, an upper bound
		out.notes = append(out.notes, "hedged: every copy is counted, for the file does not say how many answers are slow")
	}
	out.layer = l
	return out, nil
}

func budgetOf(b *retryconfig.Budget, out *readLayer) *retrytree.Budget {
	if b == nil {
		return nil
	}
	switch {
	case b.Kind == "tokens" && b.Ratio > 0:
		return &retrytree.Budget{Kind: retrytree.PerSuccess, Ratio: b.Ratio, Bucket: b.MaxTokens / 2}
	case b.Kind == "ratio" && b.Ratio > 0:
		if b.MinPerSecond > 0 {
			out.notes = append(out.notes, fmt.Sprintf("each client may always make %g more attempts a second, which the plan does not weigh", b.MinPerSecond))
		}
		return &retrytree.Budget{Ratio: b.Ratio, Floor: b.MinPerSecond}
	case b.Kind == "concurrency" && b.Ratio > 0 && b.Ratio < 1:
		return &retrytree.Budget{Kind: retrytree.OfActive, Ratio: b.Ratio}
	}
	out.notes = append(out.notes, "its "+b.Kind+" budget bounds retries by what the plan does not know")
	return nil
}
