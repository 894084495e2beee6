package cli

import "github.com/spf13/cobra"

// describeCompletion gives cobra's completion command examples and makes an
// unknown shell a usage error: cobra prints the help and reports success.
func describeCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	shells := map[string]string{
		"bash":       "  relplan completion bash > /etc/bash_completion.d/relplan",
		"zsh":        "  relplan completion zsh > \"${fpath[1]}/_relplan\"",
		"fish":       "  relplan completion fish > ~/.config/fish/completions/relplan.fish",
		"powershell": "  relplan completion powershell | Out-String | Invoke-Expression",
	}
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Example = "  relplan completion bash > /etc/bash_completion.d/relplan\n  source <(relplan completion zsh)"
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("completion needs a shell: bash, fish, powershell or zsh")
			}
			return usagef("completion for %q does not exist, expected one of bash, fish, powershell, zsh", args[0])
		}
		lacks(c, append([]string{"json"}, noReport...)...)
		for _, sub := range c.Commands() {
			sub.Example = shells[sub.Name()]
			lacks(sub, append([]string{"json"}, noReport...)...)
		}
	}
}
