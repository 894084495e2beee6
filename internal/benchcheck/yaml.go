package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/lower"
)

// runYAML checks a benchmark protocol written in the protocol language, b1, b2 or
// b3, in this process. The search that is measured is that of the final program:
// where a bag was too small at first, the check is repeated with a larger one.
func runYAML(name string, reduced bool, workers int) error {
	src, err := testdata.ReadFile("testdata/yaml/" + name + ".yaml")
	if err != nil {
		return err
	}
	spec, diags := specs.Load(name+".yaml", src)
	if spec == nil {
		return fmt.Errorf("%v", diags)
	}
	ctx := context.Background()
	first, err := lower.Check(ctx, spec.Variants()[0], modelcheck.Options{NoHistories: true})
	if err != nil {
		return err
	}
	before := cpuTime()
	r, err := modelcheck.Check(ctx, first.Model, first.Model.Properties(), modelcheck.Options{NoReduction: !reduced, Workers: workers})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(childResult{States: r.States, Transitions: r.Transitions, Verdict: r.Verdict.String(),
		Search: r.Elapsed, CPU: cpuTime() - before, Bytes: r.Bytes})
}

// runTwin checks the Go model with the state space of a YAML file: in the
// language a redelivery may bring back an acknowledged message too. B3's file is
// written with other steps; its twin is only compared in speed.
func runTwin(name string, reduced bool, workers int) error {
	var m modelcheck.Model
	var props []modelcheck.Property
	switch name {
	case "b1":
		b := models.NewInbox(4, 3, 3, 2).LostAcks()
		m, props = b, []modelcheck.Property{b.NoDup()}
	case "b2":
		b := models.NewSetnx(4, 3, 2, 2).LostAcks()
		m, props = b, []modelcheck.Property{b.NoDup()}
	default:
		b := models.NewOutbox(3, 2, 1, 2)
		m, props = b, []modelcheck.Property{b.NoDup()}
	}
	before := cpuTime()
	r, err := modelcheck.Check(context.Background(), m, props, modelcheck.Options{NoReduction: !reduced, Workers: workers})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(childResult{States: r.States, Transitions: r.Transitions, Verdict: r.Verdict.String(),
		Search: r.Elapsed, CPU: cpuTime() - before, Bytes: r.Bytes})
}

// yamlTargets compares the protocols in YAML with their twins in Go.
func yamlTargets(runs int) ([]target, error) {
	var ts []target
	for _, name := range []string{"b1", "b2", "b3"} {
		y, err := own(runs, "-yaml", name)
		if err != nil {
			return nil, err
		}
		row(name+".yaml", "relplan, 1 worker, no reduction", y.child.States, y, 0, false)
		g, err := own(runs, "-twin", name)
		if err != nil {
			return nil, err
		}
		row(name+" twin in Go", "relplan, 1 worker, no reduction", g.child.States, g, 0, false)
		if name != "b3" && (y.child.States != g.child.States || y.child.Transitions != g.child.Transitions) {
			return nil, fmt.Errorf("%s: %d states and %d transitions in YAML, %d and %d in Go", name,
				y.child.States, y.child.Transitions, g.child.States, g.child.Transitions)
		}
		speed := func(m measurement) float64 { return float64(m.child.Transitions) / m.child.CPU.Seconds() }
		ts = append(ts, target{text: name + ".yaml: transitions per CPU second against Go", want: 67, got: 100 * speed(y) / speed(g), unit: "%",
			remark: fmt.Sprintf("(%.1f against %.1f million/s)", speed(y)/1e6, speed(g)/1e6)})
	}
	return ts, nil
}
