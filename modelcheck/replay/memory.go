package replay

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// memoryResource is the memory of the workers themselves: of one instance
// (per: instance), or of one program whose instances are its threads (per:
// process). It is lost at a crash.
type memoryResource struct {
	spec *ast.Spec
	r    *ast.Resource

	mu    sync.Mutex
	parts map[string]*memoryPart // by owner; "" for the one of a process
	begun map[string]bool        // owners that have had their first entries
	count map[string]map[string]int
}

// memoryPart is what one owner remembers.
type memoryPart struct {
	m     *memoryResource
	cells map[string]cell // by encoded key
}

func openMemory(spec *ast.Spec, r *ast.Resource) resource {
	m := &memoryResource{spec: spec, r: r}
	m.forget()
	return m
}

func (m *memoryResource) forget() {
	m.parts, m.begun, m.count = map[string]*memoryPart{}, map[string]bool{}, map[string]map[string]int{}
}

func (m *memoryResource) engine() string { return "memory of the workers" }

// boundary says who counts.
func (m *memoryResource) boundary() []string {
	for _, e := range m.spec.Effects {
		if keeps(m.spec, m.r, e) {
			return []string{fmt.Sprintf("effects on %s are counted by the driver: no engine keeps them", m.r.Name)}
		}
	}
	return nil
}

func (m *memoryResource) reset(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	return nil
}

func (m *memoryResource) close(context.Context) error { return nil }

// keep gives what puts everything back as it is now.
func (m *memoryResource) keep() (undo func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := map[string]*memoryPart{}
	for owner, p := range m.parts {
		parts[owner] = &memoryPart{m: m, cells: maps.Clone(p.cells)}
	}
	begun, count := maps.Clone(m.begun), map[string]map[string]int{}
	for effect, n := range m.count {
		count[effect] = maps.Clone(n)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.parts, m.begun, m.count = parts, begun, count
	}
}

func (m *memoryResource) shared() bool { return m.r.KV.Scope == ast.PerProcess }

// part is the memory of a worker. What exists before the first step is there
// once, not again after a crash.
func (m *memoryResource) part(owner string) (*memoryPart, error) {
	if m.shared() {
		owner = ""
	}
	if p := m.parts[owner]; p != nil {
		return p, nil
	}
	p := &memoryPart{m: m, cells: map[string]cell{}}
	if !m.begun[owner] {
		first, err := initialEntries(m.spec, m.r)
		if err != nil {
			return nil, err
		}
		for _, e := range first {
			p.cells[encode(e.key)] = cell{value: encode(e.value)}
		}
	}
	m.parts[owner], m.begun[owner] = p, true
	return p, nil
}

func (m *memoryResource) happen(_ context.Context, e *lower.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.What != lower.Restart {
		return fmt.Errorf("%w: %q in memory", errUnsupported, e.What)
	}
	clear(m.parts)
	return nil
}

func (m *memoryResource) effects(_ context.Context, e *ast.Effect) (map[string]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]int{}
	for op, n := range m.count[e.Name] {
		out[op] = n
	}
	return out, nil
}

func (m *memoryResource) connect(context.Context) (session, error) { return &memorySession{m: m}, nil }

func (p *memoryPart) entries() ([]entry, error) {
	var out []entry
	for name, c := range p.cells {
		e := entry{name: name}
		var err error
		if e.key, err = decode(name); err != nil {
			return nil, err
		}
		if e.value, err = decode(c.value); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// apply carries out a verb; the caller holds the lock.
func (p *memoryPart) apply(_ context.Context, r *ast.Resource, op kvOp) (kvResult, error) {
	if r != p.m.r {
		return kvResult{}, fmt.Errorf("%w: a script over two memories", errUnsupported)
	}
	var old *cell
	if c, there := p.cells[op.key]; there {
		old = &c
	}
	next, res := change(old, op)
	if next == nil {
		delete(p.cells, op.key)
	} else {
		p.cells[op.key] = *next
	}
	if res.done {
		for _, k := range op.marks {
			if p.m.count[k.effect] == nil {
				p.m.count[k.effect] = map[string]int{}
			}
			p.m.count[k.effect][k.op] += k.n
		}
	}
	return res, nil
}

// memorySession is one worker's access to its memory.
type memorySession struct {
	m     *memoryResource
	owner string
}

func (x *memorySession) part(names *scope) (*memoryPart, error) {
	x.owner, _ = names.me.(string)
	return x.m.part(x.owner)
}

func (x *memorySession) take(_ context.Context, t *ast.Trigger, names *scope, e *lower.Event) (Value, error) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	p, err := x.part(names)
	if err != nil {
		return nil, err
	}
	all, err := p.entries()
	if err != nil {
		return nil, err
	}
	return takeEntry(all, t, names, e)
}

func (x *memorySession) do(ctx context.Context, c *call) ending {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	p, err := x.part(c.names)
	switch {
	case err != nil:
		return failed(err)
	case c.fault == refused:
		return refusal()
	case c.fault == requestLost || c.fault == arrivesLate:
		return failed(fmt.Errorf("%w: memory loses no request", errUnsupported))
	}
	e := p.do(ctx, c)
	if c.fault == answerLost {
		return lostOrFailed(errNoAnswer)
	}
	return e
}

func (p *memoryPart) do(ctx context.Context, c *call) ending {
	switch c.step.Verb {
	case ast.VerbScript:
		return runScript(ctx, p, c)
	case ast.VerbSelect:
		all, err := p.entries()
		if err != nil {
			return failed(err)
		}
		return selectEntry(all, c.step, c.names, c.event)
	}
	op, err := kvOpOf(c.names, c.step)
	if err != nil {
		return failed(err)
	}
	return kvEnding(p.apply(ctx, c.step.Resource, op))
}

func (x *memorySession) end(context.Context) error { return nil }

// cut loses what the worker remembers; threads of one program lose it together.
func (x *memorySession) cut() {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if x.m.shared() {
		delete(x.m.parts, "")
		return
	}
	delete(x.m.parts, x.owner)
}
