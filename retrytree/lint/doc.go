// Package lint judges retry settings: sixty rules, each a documented value with a bad
// and a good example. Most rules look at the normal form only and hold for every
// product; some report what the reader of one product has seen.
package lint
