package cli

import "fmt"

// Exit codes, part of the contract. With several inputs the worst wins, in the
// order 3, 2, 1, 4, 0.
const (
	exitOK           = 0
	exitFinding      = 1 // broken promise, finding, policy exceeded, not admitted
	exitUsage        = 2 // bad usage or bad input
	exitInternal     = 3
	exitInconclusive = 4
)

// exitError ends the run with a code after the result was written; it has
// nothing more to say.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exit turns a code into an error that Main understands; 0 is nil.
func exit(code int) error {
	if code == exitOK {
		return nil
	}
	return exitError(code)
}

// worst gives the code that wins when several inputs end differently.
func worst(codes ...int) int {
	rank := map[int]int{exitInternal: 4, exitUsage: 3, exitFinding: 2, exitInconclusive: 1}
	w := exitOK
	for _, c := range codes {
		if rank[c] > rank[w] {
			w = c
		}
	}
	return w
}
