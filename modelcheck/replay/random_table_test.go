package replay_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
)

// tally is what the random schedules of a variant came to on an engine.
type tally struct {
	schedules, steps int
	answers          map[replay.Answer]int
	reasons          map[string]int // of those that are not CONFIRMED
}

// randomTally collects the tallies of all variants and engines.
type randomTally struct {
	seed     uint64
	began    time.Time
	mu       sync.Mutex
	cells    map[[2]string]map[engines.Kind]*tally // by pattern and variant
	versions map[string]bool
}

var instanceNumber = regexp.MustCompile(`^(\w+)-\d+`)

func (all *randomTally) add(pattern, variant string, kind engines.Kind, runs []*replay.Run) {
	all.mu.Lock()
	defer all.mu.Unlock()
	key := [2]string{pattern, variant}
	if all.cells[key] == nil {
		all.cells[key] = map[engines.Kind]*tally{}
	}
	c := &tally{answers: map[replay.Answer]int{}, reasons: map[string]int{}}
	all.cells[key][kind] = c
	for _, r := range runs {
		c.schedules++
		c.steps += len(r.Steps)
		c.answers[r.Answer]++
		for _, version := range r.Engines {
			all.versions[version] = true
		}
		if r.Answer != replay.Confirmed {
			c.reasons[fmt.Sprintf("%s: %s", r.Answer, instanceNumber.ReplaceAllString(r.Reason, "$1"))]++
		}
	}
}

func (all *randomTally) String() string {
	sum := map[engines.Kind]*tally{}
	for _, by := range all.cells {
		for kind, c := range by {
			if sum[kind] == nil {
				sum[kind] = &tally{answers: map[replay.Answer]int{}}
			}
			sum[kind].schedules += c.schedules
			sum[kind].steps += c.steps
			for a, n := range c.answers {
				sum[kind].answers[a] += n
			}
		}
	}
	var b strings.Builder
	b.WriteString("| engine of the sql stores | schedules | steps | CONFIRMED | STRICTER | NOT_RUN | WEAKER |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, kind := range sqlKinds {
		if c := sum[kind]; c != nil {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", columnName[kind], c.schedules, c.steps,
				c.answers[replay.Confirmed], c.answers[replay.Stricter], c.answers[replay.NotRun], c.answers[replay.Weaker])
		}
	}
	return b.String()
}

var columnName = map[engines.Kind]string{engines.SQLite: "SQLite", engines.Postgres: "PostgreSQL", engines.MySQL: "MariaDB"}

// write puts the tallies into docs/engines.md: they are those of one day's seed,
// so nothing is compared with them.
func (all *randomTally) write(t *testing.T) {
	parts := marksOf("random table").find(t, readPage(t))
	parts[1] = []byte(all.page())
	writePage(t, parts)
}

func (all *randomTally) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`make test-long` on %s, seed %d, in %.0f minutes: %d random schedules of every safe pattern on each engine of the sql stores, drawn by the checker's chooser with the faults\n"+
		"of the spec and at most 60 steps long. Every history of the table above was acted out %d times in the same run, none was FLAKY. `make test` draws 50 a pattern, with another\n"+
		"seed every day. Versions: %s.\n\n%s\n",
		all.began.Format(time.DateOnly), all.seed, time.Since(all.began).Minutes(), schedules(), repetitions(), strings.Join(slices.Sorted(maps.Keys(all.versions)), ", "), all)
	b.WriteString("Not all CONFIRMED, by variant; what stops a schedule stands below:\n\n| pattern | variant | SQLite | PostgreSQL | MariaDB |\n| --- | --- | --- | --- | --- |\n")
	var notes []string
	cells := slices.SortedFunc(maps.Keys(all.cells), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range cells {
		line, differs := fmt.Sprintf("| %s | %s |", key[0], key[1]), false
		for _, kind := range sqlKinds {
			c := all.cells[key][kind]
			line += fmt.Sprintf(" %d of %d", c.answers[replay.Confirmed], c.schedules)
			for _, reason := range slices.Sorted(maps.Keys(c.reasons)) {
				differs = true
				n := slices.Index(notes, reason) + 1
				if n == 0 {
					notes = append(notes, reason)
					n = len(notes)
				}
				line += fmt.Sprintf(", %d (%d)", c.reasons[reason], n)
			}
			line += " |"
		}
		if differs {
			b.WriteString(line + "\n")
		}
	}
	for i, n := range notes {
		fmt.Fprintf(&b, "\n%d. %s", i+1, n)
	}
	b.WriteString("\n")
	return b.String()
}

// today is the seed of the day.
func today() uint64 { return uint64(time.Now().Unix() / 86400) }

// TestRandomSchedulesOfTheLibrary drives random schedules of every safe pattern:
// other ones every day, the seed is printed.
func TestRandomSchedulesOfTheLibrary(t *testing.T) {
	all := &randomTally{seed: today(), began: time.Now(), cells: map[[2]string]map[engines.Kind]*tally{}, versions: map[string]bool{}}
	t.Logf("seed %d", all.seed)
	driveRandom(t, all)
	t.Logf("in %s\n%s", time.Since(all.began).Round(time.Second), all)
	if long() && os.Getenv("RELPLAN_ENGINES") != "embedded" && !t.Failed() {
		all.write(t)
	}
}

func TestPageOfRandomSchedules(t *testing.T) {
	all := &randomTally{seed: 7, began: time.Now(), cells: map[[2]string]map[engines.Kind]*tally{}, versions: map[string]bool{}}
	ran := func(a replay.Answer, reason string) *replay.Run {
		return &replay.Run{Engines: map[string]string{"db": "sqlite 3"}, Verdict: &replay.Verdict{Answer: a, Reason: reason, Steps: make([]replay.StepReport, 4)}}
	}
	busy, fine := ran(replay.Stricter, "w-2: busy"), ran(replay.Confirmed, "")
	for _, kind := range sqlKinds {
		all.add("calm", "one", kind, []*replay.Run{fine, fine})
		all.add("crowd", "two", kind, []*replay.Run{fine, busy, ran(replay.Stricter, "w-1: busy")})
	}
	page := all.page()
	for _, line := range []string{"| SQLite | 5 | 20 | 3 | 2 | 0 | 0 |", "| crowd | two | 1 of 3, 2 (1) | 1 of 3, 2 (1) | 1 of 3, 2 (1) |", "1. STRICTER: w: busy", "Versions: sqlite 3."} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
	if strings.Contains(page, "| calm |") {
		t.Error("a variant without a reason has a line")
	}
}
