package diag

import "strings"

// Closest gives the known word nearest to word, if it is near enough to be a
// slip of the hand: at most a third of its letters differ (transpositions count
// once). Ties go to the first.
func Closest(word string, known []string) (string, bool) {
	best, bestDist := "", 1+max(1, len([]rune(word))/3)
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < bestDist {
			best, bestDist = k, d
		}
	}
	return best, best != ""
}

// distance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours cost 1.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 1 << 20
	}
	row2, row1 := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row1 {
		row1[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(row1[j]+1, row[j-1]+1, row1[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], row2[j-2]+1)
			}
		}
		row2, row1 = row1, row
	}
	return row1[len(y)]
}
