// Command relplan decides retention windows, retries, deadlines and protocols
// by calculation, model checking and replay.
package main

import (
	"os"

	"github.com/relplan/relplan/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Standard()))
}
