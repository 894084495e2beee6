// Package deadline answers one question in several forms: does the work still
// fit into the time that is left?
//
//   - [Admit] decides about one attempt: start it only when the time spent, the
//     wait and the attempt together are within the budget.
//
//   - [Propagate] carries a deadline along a chain of callers and shows where a
//     hop works for nobody.
//
//   - [Policy] lays the attempts of a retry loop out in time: those that start,
//     those that fit, the longest time, the retry horizon.
//
//   - [Suggest] plans attempts, per-try limits and waits from latencies, a target
//     and a deadline.
//
//   - [Budget] is the same decision inside a running service.
//
// All times are integer nanoseconds (time.Duration). Comparisons use <=: an
// attempt that ends exactly at the deadline is admitted. Sums saturate at the
// largest duration (about 292 years) instead of wrapping.
//
// The package knows no file format and no call graph, and except for [Budget],
// whose clock is injected, no clock.
package deadline
