// Package retrytree computes what retries do to a graph of calls.
//
// A [Graph] is a directed acyclic graph of services ([Node]); an edge is a
// [Call] with its retry policies ([Layer]). Counts are attempts, the first one
// included: "3 retries" are 4 attempts.
//
// [Graph.Worst] gives the exact worst case: how often each service is executed
// for one request.
//
// The package is pure: no clock, no files, no randomness.
package retrytree
