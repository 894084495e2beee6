// Package deadline answers one question in several forms: does the work still
// fit into the time that is left?
//
//   - [Admit] decides about one attempt: start it only when the time spent, the
//     wait and the attempt together are within the budget.
//   - [Propagate] carries a deadline along a chain of callers and shows where a
//     hop works for nobody.
//
// All times are integer nanoseconds (time.Duration). Comparisons use <=: an
// attempt that ends exactly at the deadline is admitted. Sums saturate at the
// largest duration (about 292 years) instead of wrapping.
//
// The package knows no clock, no file format and no call graph.
package deadline
