package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/relplan/relplan/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"relplan": func() { os.Exit(cli.Main(os.Args[1:], cli.Standard())) },
	})
}

// TestScripts runs testdata/script/*.txtar against the real program; set
// UPDATE_GOLDEN=1 to rewrite the expected outputs.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv("ROOT", root)
			return nil
		},
	})
}
