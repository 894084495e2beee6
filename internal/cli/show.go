package cli

import (
	"github.com/spf13/cobra"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
)

type showDocument struct {
	Schema   string        `json:"schema"`
	File     string        `json:"file"`
	System   string        `json:"system"`
	Variants []showVariant `json:"variants"`
}

type showVariant struct {
	Name       *string           `json:"name"` // null for the one unnamed variant
	Parameters map[string]string `json:"parameters"`
	Prose      []string          `json:"prose"`
}

func newShow(f *factory) *cobra.Command {
	var variants []string
	var prose bool
	c := &cobra.Command{
		Use:   "show SPEC",
		Short: "Tell a spec in English, as it will be checked",
		Long: `Tell a spec in English, from the resolved tree: parameters are substituted, only:
is decided, implied branches are left out. What it says is what is checked.`,
		Example: `  relplan show inbox.yaml --prose
  relplan show payment.yaml --variant fixed -o markdown`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runShow(f, args[0], variants) },
	}
	c.Flags().BoolVar(&prose, "prose", true, "tell it in English (the only form there is)")
	c.Flags().StringArrayVar(&variants, "variant", nil, "only this variant (may be repeated)")
	return lacks(c, "csv", "sarif", "junit")
}

func runShow(f *factory, path string, variants []string) error {
	list, err := f.loadSpecs([]string{path}, specs.Options{})
	if err != nil {
		return err
	}
	s := list[0]
	o := checkOptions{CheckOptions: specs.CheckOptions{Variants: variants}}
	if err := o.names(list); err != nil {
		return err
	}
	r := &reports.Report{Command: "show"}
	doc := showDocument{Schema: "relplan.dev/show/v1", File: s.File, System: s.System, Variants: []showVariant{}}
	for _, tree := range s.Variants() {
		if len(variants) > 0 && !contains(variants, tree.Variant) {
			continue
		}
		blocks := specs.Prose(tree)
		r.Add(blocks...)
		v := showVariant{Parameters: map[string]string{}, Prose: []string{}}
		if tree.Variant != "" {
			name := tree.Variant
			v.Name = &name
		}
		for _, p := range tree.Parameters {
			v.Parameters[p.Name] = p.Value
		}
		for _, b := range blocks {
			v.Prose = append(v.Prose, blockText(b)...)
		}
		doc.Variants = append(doc.Variants, v)
	}
	r.Data = doc
	return f.Emit(r)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func blockText(b reports.Block) []string {
	switch b := b.(type) {
	case reports.Heading:
		return []string{b.Text}
	case reports.Paragraph:
		return []string{b.Text}
	case reports.List:
		return b.Items
	case reports.Code:
		return []string{b.Text}
	}
	return nil
}
