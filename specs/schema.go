package specs

import (
	"encoding/json"

	"github.com/relplan/relplan/specs/ast"
)

// Schema gives the JSON Schema (draft 2020-12) of spec files, for editors. It is
// made from the tables that the loader uses, so that both know the same keys.
// It checks shapes; names and types are checked by the loader alone.
func Schema() []byte {
	b, err := json.MarshalIndent(schemaDocument(), "", "  ")
	if err != nil {
		panic(err) // the document is made of maps, lists and strings
	}
	return append(b, '\n')
}

type object = map[string]any

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func described(s object, text string) object {
	out := object{"description": text}
	for k, v := range s {
		out[k] = v
	}
	return out
}

func anyOf(list ...any) object { return object{"anyOf": list} }

func listOf(item object) object { return object{"type": "array", "items": item} }

func mapOf(value object) object { return object{"type": "object", "additionalProperties": value} }

func closed(props object, required ...string) object {
	o := object{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func words(list ...string) object {
	return anyOf(object{"enum": list}, ref("parameter"))
}

func text_() object { return object{"type": "string"} }

func schemaDocument() object {
	return object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"$id":         "https://relplan.dev/schema/spec/v1.json",
		"title":       "relplan protocol spec v1",
		"type":        "object",
		"required":    []string{"relplan", "system", "operations", "processes", "promises"},
		"properties":  schemaSections(),
		"$defs":       schemaDefs(),
		"description": "A protocol: who does what to which store, what may go wrong, and what must hold.",

		"additionalProperties": false,
	}
}

func schemaSections() object {
	return object{
		"relplan":          described(object{"const": "v1"}, "version of the language"),
		"system":           described(text_(), "name of what is described"),
		"about":            described(text_(), "one sentence on it"),
		"operations":       described(mapOf(ref("operation")), "what is counted, and how many of each"),
		"resources":        described(mapOf(ref("resource")), "stores and services"),
		"processes":        described(mapOf(ref("process")), "who does what, in which order"),
		"faults":           described(schemaFaults(), "what may go wrong, how often at most"),
		"assume":           described(anyOf(listOf(text_()), text_()), "what the design trusts without enforcing it"),
		"durations":        described(mapOf(ref("duration")), "named lengths of time"),
		"initially":        described(mapOf(listOf(object{"type": "object"})), "contents before the first step"),
		"promises":         described(anyOf(listOf(ref("promise")), mapOf(ref("promise"))), "what must hold"),
		"must_be_possible": described(listOf(ref("possibility")), "what must be reachable"),
		"parameters":       described(object{"type": "object"}, "alternatives of the design; the first value is the default"),
		"variants":         described(mapOf(ref("variant")), "named sets of parameter values"),
		"expect":           described(ref("expect"), "the verdict the author expects"),
		"run":              described(object{"type": "object"}, "how the spec meets real engines"),
	}
}

func schemaFaults() object {
	one := anyOf(object{"type": "integer", "minimum": 0, "maximum": maxBudget}, ref("parameter"),
		closed(object{"of": ref("names"), "max": ref("count"), "loses": words("memory", "nothing"), "loses_last": ref("count"), "by": ref("duration")}))
	props := object{}
	for _, name := range FaultNames() {
		props[name] = anyOf(one, listOf(one))
	}
	return object{"type": "object", "properties": props, "additionalProperties": anyOf(object{"type": "integer", "minimum": 0}, ref("parameter"))}
}

func schemaDefs() object {
	steps := make([]any, 0, len(verbOrder))
	for _, name := range verbOrder {
		steps = append(steps, schemaStep(name, verbs[name]))
	}
	defs := object{
		"parameter": object{"type": "string", "pattern": `^\$[A-Za-z_][A-Za-z0-9_]*$`, "description": "the value of a parameter"},
		"count":     anyOf(object{"type": "integer", "minimum": 0}, ref("parameter")),
		"flag":      anyOf(object{"type": "boolean"}, ref("parameter")),
		"duration":  described(text_(), "30s, 7d, none, or the name of a duration"),
		"names":     anyOf(text_(), listOf(text_())),
		"condition": object{"type": []string{"string", "boolean"}, "description": "an expression that is true or false"},
		"value":     object{"type": []string{"string", "integer", "boolean", "object"}, "description": "an expression, or a record"},
		"cells":     mapOf(ref("value")),
		"where":     anyOf(ref("condition"), mapOf(anyOf(ref("value"), listOf(ref("value"))))),
		"only":      object{"type": []string{"string", "boolean"}, "description": "a condition over parameters, decided when the file is read"},
		"branch": object{"type": "string", "pattern": `^(go|stop|continue|retry|ask_human|reply|commit|\$)`,
			"description": "go LABEL, stop, continue, retry N, ask_human, reply ok, or commit LABEL"},
		"operation": anyOf(object{"type": "integer", "minimum": 1, "maximum": maxOperations}, ref("parameter"),
			object{"type": "object", "properties": object{"count": ref("count")}, "additionalProperties": anyOf(text_(), object{"type": "array"}, closed(object{"any": object{"type": "array"}}, "any"))}),
		"expect": anyOf(object{"enum": []string{ast.Holds, ast.Broken, ast.Unknown, ast.Vacuous}},
			closed(object{ast.Holds: ref("promised"), ast.Broken: ref("promised"), ast.Unknown: ref("promised"), ast.Vacuous: ref("promised")})),
		"promised": anyOf(object{"type": []string{"string", "integer"}}, listOf(object{"type": []string{"string", "integer"}})),
		"variant": closed(object{"about": text_(), "with": object{"type": "object"}, "faults": schemaFaults(), "durations": mapOf(ref("duration")),
			"assume": anyOf(listOf(text_()), text_()), "expect": ref("expect")}),
		"promise":     anyOf(text_(), schemaPromiseMap()),
		"possibility": anyOf(text_(), object{"type": "object"}),
		"process": closed(object{"about": text_(), "only": ref("only"), "instances": ref("count"), "on": ref("trigger"), "steps": listOf(ref("step"))},
			"on", "steps"),
		"trigger": schemaTriggers(),
		"step":    object{"anyOf": steps},
	}
	for name, def := range schemaResources() {
		defs[name] = def
	}
	return defs
}

func schemaTriggers() object {
	types := object{"as": text_(), "batch": ref("count"), "workers": ref("count"), "where": ref("where"), "order_by": text_(), "copies": ref("count"),
		"tries": ref("count"), "durable": ref("flag"), "in_order": text_()}
	var list []any
	for _, kind := range triggerOrder {
		props := object{kind: text_()}
		if kind == "poll" {
			props[kind] = ref("flag")
		}
		for _, k := range triggerKeys[kind] {
			props[k] = types[k]
		}
		list = append(list, closed(props, kind))
	}
	return object{"anyOf": list}
}

// argTypes are the shapes of the arguments of verbs.
var argTypes = map[string]object{
	"do": listOf(ref("step")), "row": ref("cells"), "set": ref("cells"), "message": ref("cells"), "with": ref("cells"),
	"where": ref("where"), "when": ref("condition"), "as": text_(), "position": text_(), "order_by": text_(), "at": text_(), "only": ref("only"),
	"lock": ref("flag"), "skip_locked": ref("flag"), "nowait": ref("flag"), "count": ref("flag"), "if_absent": ref("flag"), "keep_ttl": ref("flag"),
	"fair": ref("flag"), "try": ref("flag"), "slow": ref("flag"), "from": words("replica", "primary"), "lower": words("accepted", "refused"),
	"scope": words("transaction", "session"), "ttl": ref("duration"), "key": ref("value"), "value": ref("value"), "only_if_value": ref("value"),
	"body": ref("value"), "at_least": ref("value"), "id": ref("value"), "epoch": ref("value"), "up_to": ref("value"), "effect": ref("cells"), "undo": ref("cells"),
}

func schemaStep(name string, v *verbInfo) object {
	props := object{}
	for _, k := range v.allowed() {
		if t, ok := argTypes[k]; ok && k != name {
			props[k] = t
		} else {
			props[k] = ref("branch")
		}
	}
	props[name] = described(schemaSubject(v.verb), v.example)
	return closed(props, append([]string{name}, v.must...)...)
}

func schemaSubject(v ast.Verb) object {
	switch v {
	case ast.VerbStop, ast.VerbFail:
		return ref("flag")
	case ast.VerbLet:
		return ref("cells")
	case ast.VerbChoose:
		return listOf(text_())
	}
	return text_()
}

func schemaPromiseMap() object {
	prepare()
	props := object{"only": ref("only"), "promise": text_(), "check": ref("condition"), "always": ref("flag"), "eventually": ref("flag"),
		"finally": ref("flag"), "leads_to": ref("condition")}
	args := map[string]object{}
	for _, f := range promiseForms {
		if args[f.key] == nil {
			args[f.key] = object{}
		}
		for _, a := range f.argNames() {
			args[f.key][a] = object{"type": []string{"string", "integer", "boolean"}}
		}
		for a := range f.flags {
			args[f.key][a] = object{"type": "boolean"}
		}
	}
	for key, props_ := range args {
		if key == "eventually" { // also a mode of check:
			props[key] = anyOf(ref("flag"), closed(props_))
			continue
		}
		props[key] = closed(props_)
	}
	return object{"type": "object", "properties": props, "additionalProperties": false, "minProperties": 1}
}

func schemaResources() object {
	column := object{"type": []string{"string", "array", "null"}}
	unique := anyOf(text_(), closed(object{"columns": listOf(text_()), "where": ref("condition")}, "columns"))
	lease := closed(object{"while": ref("cells"), "holder": text_(), "lasts": ref("duration"), "then": ref("cells"), "ends": words("by_sweep", "at_claim")},
		"while", "lasts", "then")
	table := closed(object{"about": text_(), "columns": anyOf(listOf(text_()), mapOf(column)), "unique": anyOf(text_(), listOf(unique)), "sequence": text_(),
		"lease": lease, "token": text_(), "keeps": ref("duration"), "partition_by": text_(), "shard_by": text_(), "rows": ref("count")})
	types := map[string]object{
		"isolation": words("read_committed", "repeatable_read", "serializable"), "engine": words("postgres", "mysql", "mariadb", "sqlite"),
		"tables":  anyOf(listOf(text_()), mapOf(anyOf(table, object{"type": "null"}))),
		"replica": anyOf(ref("flag"), closed(object{"lag": ref("count")})), "session": words("pooled", "pinned"),
		"same_server_as": ref("names"), "per": words("instance", "process"), "delivery": words("at_least_once", "at_most_once"),
		"starts_with": object{"type": "string", "pattern": "^[a-z0-9]+ per .+|^[$]"}, "copies": ref("count"), "visibility": anyOf(ref("duration"), closed(object{"lasts": ref("duration"), "renewed": ref("flag")})),
		"max_deliveries": ref("count"), "dead_letter": text_(), "replay": closed(object{"to": text_(), "within": ref("duration")}, "to"),
		"dedup": closed(object{"by": text_(), "window": ref("duration"), "scope": text_()}), "order": text_(), "stale_ack": words("accepted", "refused"),
		"partitions": ref("count"), "partition_by": text_(), "fenced": ref("flag"), "reset": words("earliest", "latest"), "keeps": ref("duration"),
		"at": anyOf(ref("duration"), listOf(ref("duration"))),
	}
	common := func(kind string) object {
		return object{"kind": object{"const": kind}, "about": text_(), "hidden_retry": ref("count")}
	}
	defs := object{}
	var all []any
	for i, kind := range kindWords {
		props := common(kind)
		for _, k := range resourceKeys[ast.ResourceKind(i)] {
			props[k] = types[k]
		}
		def := closed(props, "kind")
		if ast.ResourceKind(i) == ast.ProviderKind {
			def = schemaProvider(common(kind))
		}
		defs[kind] = def
		all = append(all, ref(kind))
	}
	defs["resource"] = anyOf(all...)
	return defs
}

func schemaProvider(props object) object {
	props["late_requests"], props["can_arrive_late"] = ref("flag"), ref("flag")
	types := object{"about": text_(), "effect": text_(), "undo": text_(), "dedup_by": text_(), "compares": ref("names"), "keeps": ref("duration"), "atomic": ref("flag"),
		"by": text_(), "of": text_(), "lag": ref("flag"), "not_found": words("open", "final"), "refuses_after": ref("flag")}
	var methods []any
	for _, kind := range []ast.MethodKind{ast.Execute, ast.Find, ast.Cancel} {
		p := object{}
		for _, k := range methodKeys[kind] {
			p[k] = types[k]
		}
		must := []string{}
		switch kind {
		case ast.Find:
			must = append(must, "by")
		case ast.Cancel:
			must = append(must, "undo")
		}
		methods = append(methods, closed(p, must...))
	}
	return object{"type": "object", "properties": props, "required": []string{"kind"}, "additionalProperties": object{"anyOf": methods}}
}
