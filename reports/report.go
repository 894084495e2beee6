// Package reports holds one Report value and its writers: text, JSON,
// Markdown, CSV, HTML, SARIF and JUnit. A verb fills a Report once; every
// format is made from it.
package reports

// Report is the result of one command.
type Report struct {
	Command  string    // the verb, such as "retry lint"; names the run in SARIF and JUnit
	Title    string    // headline of Markdown and HTML; text prints it too
	Blocks   []Block   // what people read, in reading order
	Data     any       // the JSON document; its first field is Schema
	Findings []Finding // what SARIF and JUnit list
	Cases    []Case    // further JUnit cases
}

// Add appends blocks.
func (r *Report) Add(blocks ...Block) { r.Blocks = append(r.Blocks, blocks...) }

// Block is one of Heading, Paragraph, List, Table, Code and Figure. Inside
// their texts `code` may be marked by backticks and nothing else.
type Block interface{ block() }

type (
	// Heading opens a section; Level 2 is a section, 3 a part of one.
	Heading struct {
		Level int
		Text  string
		Mark  Mark
	}
	// Paragraph is running text.
	Paragraph struct {
		Text string
		Mark Mark
	}
	// List is a bulleted or numbered list.
	List struct {
		Items    []string
		Numbered bool
	}
	// Table is a table; every row has as many cells as there are columns.
	Table struct {
		Caption string
		Columns []Column
		Rows    [][]string
	}
	// Code is preformatted text; Lang "mermaid" is drawn where the format can.
	Code struct {
		Lang string
		Text string
	}
	// Figure is a picture; text output names it only.
	Figure struct {
		Name    string
		Caption string
		SVG     []byte
	}
)

// Column of a table; Right aligns numbers.
type Column struct {
	Name  string
	Right bool
}

// Mark colours a heading or paragraph on a terminal and in HTML; plain text
// never depends on it.
type Mark uint8

// Marks.
const (
	Plain Mark = iota
	Good
	Bad
	Unsure
)

func (Heading) block()   {}
func (Paragraph) block() {}
func (List) block()      {}
func (Table) block()     {}
func (Code) block()      {}
func (Figure) block()    {}

// Finding is one place that a rule or promise complains about.
type Finding struct {
	Rule        string
	Title       string
	Severity    string // "error", "warning" or "info"
	File        string
	Line        int
	Column      int
	EndColumn   int
	Message     string
	Help        string // Markdown: what the rule wants, with an example
	Fingerprint string // stable over moved lines
	Suppressed  string // the reason, "" if it counts
}

// Status of a Case.
type Status uint8

// A case that did not run is Skipped, with the reason as its message; it is
// never Passed.
const (
	Skipped Status = iota
	Passed
	Failed
	Errored
)

// Case is one line of a JUnit suite.
type Case struct {
	Suite   string
	Name    string
	Status  Status
	Message string
	Details string
}

// Basis says what a number rests on; see the JSON contract. Fields that do not
// apply stay at their zero value and are left out.
type Basis struct {
	Kind     string         `json:"kind"` // arithmetic, exhaustive, sampled, simulated or measured
	Bounds   map[string]int `json:"bounds,omitempty"`
	N        int64          `json:"n,omitempty"`
	Seed     *uint64        `json:"seed,omitempty"`
	Runs     int            `json:"runs,omitempty"`
	Interval []float64      `json:"interval,omitempty"` // low, high
	Level    float64        `json:"level,omitempty"`
	Engine   string         `json:"engine,omitempty"`
	Source   string         `json:"source,omitempty"` // formula or rule id
}

// Arithmetic is the basis of a number computed by a formula.
func Arithmetic(formula string) Basis { return Basis{Kind: "arithmetic", Source: formula} }
