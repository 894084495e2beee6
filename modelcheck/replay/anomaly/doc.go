// Package anomaly measures what transactions of real engines let through, in
// the manner of Hermitage, and compares it with what the model says.
//
// A Case is one question ("is one of two committed additions lost?") with a
// schedule of statements of two or three sessions and a small spec of the same
// transactions. Run plays the schedule on an engine under one Profile (an
// engine, an isolation level, its settings): one connection per session, each
// statement in its turn; a statement that the engine makes wait is left waiting
// while the others go on. Whether it waits is asked of the engine, never
// guessed from the time that has passed. Whether the thing happened is answered
// by a query at the end. Ask puts the same question to the model checker.
//
// The schedule says nothing of what should come out. Observations are kept in
// measured.json, one entry per case and profile, and rendered by Markdown as
// docs/engines.md.
package anomaly
