package cli

import (
	"errors"
	"fmt"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
)

// flagErrors collects what is wrong with flags, so that all of it is told at once.
type flagErrors struct{ diag.List }

// bad says what a flag was expected to hold and what was found.
func (e *flagErrors) bad(flag, found, expected, hint string) {
	e.Add(diag.Diagnostic{Code: "USAGE", Message: fmt.Sprintf("--%s: expected %s, found %q", flag, expected, found), Found: found, Expected: expected, Hint: hint})
}

// conflict says which flags do not go together.
func (e *flagErrors) conflict(hint, format string, args ...any) {
	e.Add(diag.Diagnostic{Code: "USAGE", Message: fmt.Sprintf(format, args...), Hint: hint})
}

// parsed adds the error of a parser of the flag, if there is one; it says whether
// the value can be used.
func (e *flagErrors) parsed(flag, text string, err error) bool {
	var se *quantity.SyntaxError
	switch {
	case err == nil:
		return true
	case errors.As(err, &se):
		e.bad(flag, text, se.Expected, se.Hint)
	default:
		e.Add(diag.Diagnostic{Code: "USAGE", Message: fmt.Sprintf("--%s: %v", flag, err), Found: text})
	}
	return false
}

// countFlag is a whole number such as 500, 20k or 1.5M, not below zero.
type countFlag struct {
	n   int64
	set bool
}

func (c *countFlag) String() string {
	if !c.set {
		return ""
	}
	return quantity.Itoa(c.n)
}
func (c *countFlag) Type() string { return "count" }
func (c *countFlag) Set(s string) error {
	n, err := quantity.ParseCount(s)
	if err != nil {
		return fmt.Errorf("%w; whole numbers are below 2^63", err)
	}
	*c = countFlag{n, true}
	return nil
}
