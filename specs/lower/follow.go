package lower

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/modelcheck"
)

// Move names a step of a history as its author would: who acts, how the text
// begins, and what becomes of the answer.
type Move struct {
	Actor string // "" for the environment
	Text  string // how Step.Text begins
	World World
}

// NoSuchStepError: the model has no history that goes on with this move.
type NoSuchStepError struct {
	Move   Move
	Number int // of the move, from 1
	// Possible are the steps that the model offers there.
	Possible []string
}

func (e *NoSuchStepError) Error() string {
	return fmt.Sprintf("move %d, %s: the model has no such step there, it has: %s", e.Number, e.Move, strings.Join(e.Possible, " | "))
}

// String is the move as a schedule is written.
func (m Move) String() string {
	actor := m.Actor
	if actor == "" {
		actor = "-"
	}
	text := actor + ": " + m.Text
	if m.World != Heard {
		text += " ! " + string(m.World)
	}
	return text
}

// ParseMoves reads a schedule: a line each, "ACTOR: HOW THE TEXT BEGINS" with
// "! WORLD" behind it where the answer does not come; "-" is the environment.
func ParseMoves(text string) ([]Move, error) {
	var out []Move
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		actor, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return nil, fmt.Errorf("line %d: %q: expected ACTOR: TEXT", i+1, line)
		}
		m := Move{Actor: actor}
		what, world, _ := strings.Cut(rest, " ! ")
		m.Text, m.World = what, World(world)
		if actor == "-" {
			m.Actor = ""
		}
		out = append(out, m)
	}
	return out, nil
}

// Follow looks for the history that these moves name. The error is a
// *NoSuchStepError for the move at which the model goes another way.
func (o *Outcome) Follow(moves []Move) (*History, error) {
	f := &finder{o: o, n: len(moves), left: maxFind, fits: func(i int, s *Step) bool {
		m := moves[i]
		return s.Actor == m.Actor && strings.HasPrefix(s.Text, m.Text) && s.note.world() == m.World
	}}
	if h := f.search(); h != nil {
		return h, nil
	}
	return nil, &NoSuchStepError{Move: moves[f.deepest], Number: f.deepest + 1, Possible: f.offered}
}

// world is what becomes of the answer, that of a reply included.
func (n *Note) world() World {
	if n.Outcome != nil && n.World == Heard && n.Outcome.fault != nil && n.Outcome.text == string(ReplyNotHeard) {
		return ReplyNotHeard
	}
	return n.World
}

// search looks from every initial state.
func (f *finder) search() *History {
	var found *modelcheck.History
	f.o.Model.Initial(func(st []uint64) {
		if found == nil {
			h := &modelcheck.History{Initial: append([]uint64(nil), st...), LoopFrom: -1}
			if f.from(h, h.Initial, 0) {
				found = h
			}
		}
	})
	if found == nil {
		return nil
	}
	return f.o.tell(found)
}
