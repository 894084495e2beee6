package lint_test

import (
	"fmt"

	"github.com/relplan/relplan/retrytree/lint"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

func ExampleRun() {
	f := retryconfig.Parse("service-config.json", []byte(`{"methodConfig": [{"name": [{"service": "shop.Stock"}], "timeout": "3s",
  "retryPolicy": {"maxAttempts": 10, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
	for _, x := range lint.Run([]*retryconfig.File{f}, lint.Options{}) {
		fmt.Printf("%s:%d: %s: %s\n", x.File, x.Line, x.Severity, x.Rule)
	}
	// Output:
	// service-config.json:1: warning: missing-per-try-timeout
	// service-config.json:1: warning: no-retry-budget
	// service-config.json:2: error: capped-attempts
}
