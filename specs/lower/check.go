package lower

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// maxSlots is how far a pool is grown before its owner is said to grow without
// bound.
const maxSlots = 24

// Outcome is what a check of one spec found, before it is put into words.
type Outcome struct {
	*Lowered
	Model  *ir.Model
	Result *modelcheck.Result
	// Reruns is how often the program was rebuilt with larger pools.
	Reruns int
	// Orders are the orders of named durations that decide the verdict; Assumed
	// says of each assumption whether it removed anything.
	Orders  []Inequality
	Assumed []Assumed
	// Unbounded lists what grew beyond every capacity tried, in words.
	Unbounded []string
}

// Check lowers, compiles and explores. A pool that overflows is grown and the
// search is repeated, up to maxSlots; integers are never grown: their range is
// the author's (R33).
func Check(ctx context.Context, spec *ast.Spec, opt modelcheck.Options) (*Outcome, error) {
	o, err := explore(ctx, spec, opt, Options{})
	if err != nil {
		return nil, err
	}
	return o, o.restsOn(ctx, opt)
}

// explore is Check without what the verdict rests on.
func explore(ctx context.Context, spec *ast.Spec, opt modelcheck.Options, how Options) (*Outcome, error) {
	caps := map[string]int{}
	for run := 0; ; run++ {
		how.Capacity = caps
		lo, err := Lower(spec, how)
		if err != nil {
			return nil, err
		}
		m, err := ir.Compile(lo.Program, ir.Options{})
		if err != nil {
			return nil, fmt.Errorf("%s: internal: %w", spec.File, err)
		}
		res, err := modelcheck.Check(ctx, m, m.Properties(), opt)
		if err != nil {
			return nil, err
		}
		o := &Outcome{Lowered: lo, Model: m, Result: res, Reruns: run}
		grown, stuck := grow(caps, m, res)
		if !grown {
			o.Unbounded = stuck
			return o, nil
		}
	}
}

// grow enlarges the pools that were full; stuck names what cannot be enlarged.
func grow(caps map[string]int, m *ir.Model, res *modelcheck.Result) (grown bool, stuck []string) {
	for _, reason := range res.Limits {
		info, ok := m.CutReason(reason)
		if name, size, isLog := fullLog(m.Program, reason); isLog {
			if size < maxSlots {
				caps[name] = min(size+1+size/2, maxSlots)
				grown = true
			} else {
				stuck = append(stuck, name+" grows without bound: name it (more than "+strconv.Itoa(maxSlots)+" messages)")
			}
			continue
		}
		switch {
		case !ok:
			stuck = append(stuck, reason)
		case info.Pool != nil && info.Pool.Cap < maxSlots:
			caps[info.Pool.Name] = min(info.Pool.Cap+1+info.Pool.Cap/2, maxSlots)
			grown = true
		case info.Pool != nil:
			stuck = append(stuck, info.Pool.Name+" grows without bound: name it (more than "+strconv.Itoa(maxSlots)+" at once)")
		case info.Misused:
			stuck = append(stuck, "internal: "+reason)
		case info.Var != nil:
			stuck = append(stuck, leftRange(info.Var))
		default:
			stuck = append(stuck, reason)
		}
	}
	return grown, stuck
}

// fullLog finds the log whose positions ran out.
func fullLog(p *ir.Program, reason string) (name string, size int, ok bool) {
	name, ok = strings.CutSuffix(reason, " is full")
	if !ok {
		return "", 0, false
	}
	for _, s := range p.Sets {
		if s.Name == name+" position" {
			return name, s.Size, true
		}
	}
	return "", 0, false
}

func leftRange(v *ir.Var) string {
	name := strings.TrimSuffix(v.Name, "/i")
	if v.Type.Kind == ir.Range {
		return fmt.Sprintf("%s grows without bound: name it (it left %d .. %d)", name, v.Type.Lo, v.Type.Hi)
	}
	return name + " grows without bound: name it"
}
