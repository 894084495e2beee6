package modelcheck_test

import "os"

// long tells whether the tests that take minutes are wanted (make test-long).
func long() bool { return os.Getenv("RELPLAN_LONG") != "" }
