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
// A schedule is a text file of lines `key: text`; a key may name engines or
// profiles in brackets, `A[mysql, sqlite-wal]:`, and the line then belongs to
// those only.
//
//	title: lost update
//	asks: what happened if the answer is yes
//	setup: create table acct (k int primary key, v int)
//	A: begin
//	A: x = select v from acct where k = 1    x names the first column of the first row
//	B: n = update acct set v = {x}           n the number of rows; {x} puts x in
//	A: try insert into acct values (1, 0)    a failure does not end the transaction
//	A: commit
//	happened: {A} = 1 and {x} = 10           a condition in SQL, asked at the end
//	without[sqlite]: why it cannot be asked there
//	note: a remark for the page
//	orders: any                              the question makes sense for every order
//
// In happened, {A} is 1 if A's transaction committed, {A.waited} if one of its
// statements waited, {A.refused} if one failed; what a transaction read that
// did not commit is null. A transaction that fails is rolled back, and its
// remaining statements are left out.
//
// The schedule says nothing of what should come out. Observations are kept in
// measured.json, one entry per case and profile, and rendered by Markdown as
// docs/engines.md.
package anomaly
