package cli

import "slices"

// inputHelp explains the codes of errors that are about files and the command
// line itself, and not about what a spec or a retry policy says.
var inputHelp = helpSource{
	lookup: func(code string) (helpText, bool) {
		i := slices.IndexFunc(inputPages, func(t helpText) bool { return t.Code == code })
		if i < 0 {
			return helpText{}, false
		}
		return inputPages[i], true
	},
	codes: func() []string {
		out := make([]string, len(inputPages))
		for i, t := range inputPages {
			out[i] = t.Code
		}
		return out
	},
}

var inputPages = []helpText{
	{"FILE", "a file that cannot be used",
		"The file is not there, cannot be read or written, is empty, is of another kind than the verb takes, or would be overwritten. Three kinds of files begin with `relplan: v1` and are told apart by the key that follows: a plan has `plan:`, a spec has `system:`, a file of retry statements has `statements:`.",
		"relplan: v1\nabout: nothing says of what kind it is", "relplan: v1\nplan: checkout"},
	{"USAGE", "a mistake on the command line",
		"The verb, a flag or its value is not known, is missing, or two of them exclude each other. `relplan VERB --help` lists the flags of a verb with examples. The exit code is 2 and nothing was calculated.", "", ""},
	{"DDL", "a CREATE TABLE statement that is not understood",
		"CREATE TABLE and CREATE INDEX are read in the dialect of the engine: columns, types, keys and the options that change the size of a row. The message says what was found and what was expected there. What is not known is an error and never a guess: a wrong width would be multiplied by every row.",
		"CREATE TABLE inbox (msg_id VARCHAR(36 PRIMARY KEY);", "CREATE TABLE inbox (msg_id VARCHAR(36) PRIMARY KEY);"},
	{"RP100", "an engine of `run:` that a history cannot be replayed on",
		"The section `run:` says which engine stands for a resource when a history is replayed. The engine is not known, does not fit the kind of the resource, or its address is wrong. `relplan version --engines` lists those that can be started here.", "", ""},
	{"PLAN-KEY", "a key of the plan is unknown or missing",
		"Unknown keys are errors, because a misspelt key would otherwise be ignored and the plan would calculate with a default. `relplan schema plan` has all keys, for editors too.",
		"workloads:\n  payments: {rat: 500/s}", "workloads:\n  payments: {rate: 500/s}"},
	{"PLAN-VALUE", "a value of the plan has the wrong form",
		"The value is not of the kind that the key takes, or lies outside its range. Durations, sizes and rates carry their unit: 90d, 2GiB, 500/s.",
		"workloads:\n  payments: {rate: fast}", "workloads:\n  payments: {rate: 500/s}"},
	{"PLAN-REF", "a name that nothing in the plan has",
		"The plan names a workload, store, service or entry that is not declared in it, or one that cannot stand there. The message says which names there are.",
		"workloads:\n  payments: {rate: 500/s}\nstores:\n  inbox: {engine: redis, holds: paymets, retain: 30d}", "workloads:\n  payments: {rate: 500/s}\nstores:\n  inbox: {engine: redis, holds: payments, retain: 30d}"},
	{"PLAN-CYCLE", "services call each other in a circle",
		"A call tree has no circle: attempts along one would multiply without end. If the calls really come back, and a limit on hops ends them, model each hop as a service of its own.",
		"calls:\n  a: {calls: [{to: b, attempts: 2}]}\n  b: {calls: [{to: a, attempts: 2}]}", "calls:\n  a: {calls: [{to: b, attempts: 2}]}\n  b: {calls: [{to: a-again, attempts: 2}]}\n  a-again: {}"},
}
