package reports

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"
)

// SARIF 2.1.0, the parts that code hosts show.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		Help             *sarifMD  `json:"help,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifMD struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown"`
	}
	sarifResult struct {
		RuleID              string             `json:"ruleId"`
		RuleIndex           int                `json:"ruleIndex"`
		Level               string             `json:"level"`
		Message             sarifText          `json:"message"`
		Locations           []sarifLocation    `json:"locations,omitempty"`
		PartialFingerprints map[string]string  `json:"partialFingerprints,omitempty"`
		Suppressions        []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

func writeSARIF(w io.Writer, r *Report, o Options) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "relplan", Version: o.Version, InformationURI: "https://github.com/relplan/relplan", Rules: sarifRules(r.Findings)}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, sarifResultOf(f, run.Tool.Driver.Rules))
	}
	return writeJSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func sarifRules(fs []Finding) []sarifRule {
	rules := []sarifRule{}
	for _, f := range fs {
		if slices.ContainsFunc(rules, func(r sarifRule) bool { return r.ID == f.Rule }) {
			continue
		}
		rule := sarifRule{ID: f.Rule, ShortDescription: sarifText{cmp.Or(f.Title, f.Rule)}}
		if f.Help != "" {
			rule.Help = &sarifMD{Text: f.Help, Markdown: f.Help}
		}
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return cmp.Compare(a.ID, b.ID) })
	return rules
}

func sarifResultOf(f Finding, rules []sarifRule) sarifResult {
	res := sarifResult{
		RuleID:    f.Rule,
		RuleIndex: slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == f.Rule }),
		Level:     map[string]string{"error": "error", "warning": "warning"}[f.Severity],
		Message:   sarifText{plain(f.Message)},
	}
	if res.Level == "" {
		res.Level = "note"
	}
	if f.Fingerprint != "" {
		res.PartialFingerprints = map[string]string{"relplan/v1": f.Fingerprint}
	}
	if f.Suppressed != "" {
		res.Suppressions = []sarifSuppression{{Kind: "inSource", Justification: f.Suppressed}}
	}
	if f.File != "" {
		loc := sarifPhysical{ArtifactLocation: sarifArtifact{URI: filepath.ToSlash(f.File)}}
		if f.Line > 0 {
			loc.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column, EndColumn: f.EndColumn}
		}
		res.Locations = []sarifLocation{{loc}}
	}
	return res
}
