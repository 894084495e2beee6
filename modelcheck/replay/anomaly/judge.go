package anomaly

// Verdict compares an engine with the model.
type Verdict string

// Verdicts. Stricter: the engine refuses, or makes wait, what the model allows.
// Weaker: the engine allows what the model says is impossible; a promise that
// the model keeps may then be broken on the engine.
const (
	Match    Verdict = "MATCH"
	Stricter Verdict = "STRICTER"
	Weaker   Verdict = "WEAKER"
	NotAsked Verdict = "NOT_ASKED" // the engine has no such statement
	NoModel  Verdict = "NO_MODEL"  // the language has no such level
)

// Judge compares a cell with the model's answer, nil where the language has no
// such level. An error of the engine is a refusal unless the model's
// transactions can be refused too; a duplicate key is no error but a branch.
func Judge(c Cell, m *ModelAnswer) Verdict {
	switch {
	case c.Without != "":
		return NotAsked
	case m == nil:
		return NoModel
	case c.Happened && !m.Possible:
		return Weaker
	case !c.Happened && m.Possible, c.Refused && len(m.Errors) == 0:
		return Stricter
	}
	return Match
}
