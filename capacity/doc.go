// Package capacity answers how much a dedupe store must remember and for how
// long: records, raw bytes, the window each store needs, what is exposed when
// the window is shorter, how many operations stay UNKNOWN, how many a crash
// catches, and how the volume grows.
//
// The package is arithmetic only. It takes plain values (time.Duration, whole
// bytes, exact rates), returns exact integers where the inputs are points, and
// every result carries the formula it was computed by as text. Bytes that an
// engine really uses for a row are the business of capacity/storage; ranges and
// distributions of inputs are the business of capacity/uncertain.
//
// Terms. A window is how long a store remembers that an operation was done. A
// source is whatever can deliver an operation again: a broker that replays, a
// disaster recovery, a person who reissues, a caller that keeps trying, a
// provider that keeps idempotency keys, a backup that is restored. A window is
// covered when it is at least as long as the longest source plus slack.
package capacity
