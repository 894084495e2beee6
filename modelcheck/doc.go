// Package modelcheck is an explicit-state model checker for small, finite,
// concurrent systems with faults.
//
// A Model is a transition system over packed states: a state is a fixed number
// of 64-bit words, an action writes the words of its successor. The package
// knows no file format and no protocol; it knows what is needed to judge
// promises about every history a model has: a state set, a search, symmetry,
// properties, and histories that people can read.
//
// Verdicts are Unknown, Holds, Broken and Vacuous. The zero value is Unknown:
// nothing is claimed that was not computed.
package modelcheck
