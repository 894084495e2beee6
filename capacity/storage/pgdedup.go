package storage

// dedupPage merges equal keys of a full leaf into posting lists
// (_bt_dedup_pass, src/backend/access/nbtree/nbtdedup.c).
func (s *pgLeafSim) dedupPage(l *pgLeaf, it pgItem) {
	single := len(l.items) > 0 && l.items[0].key == it.key && l.items[len(l.items)-1].key == it.key
	limit := pgMaxPosting
	full := 0 // posting lists of maximum size met so far
	out := l.items[:0]
	for i := 0; i < len(l.items); {
		cur := l.items[i]
		base := s.shape.size(cur.key) - pgItemID
		n := int(cur.n)
		j := i + 1
		for j < len(l.items) && l.items[j].key == cur.key && full < 6 {
			m := int(l.items[j].n)
			if align8(base+6*(n+m)) > limit {
				break
			}
			n += m
			j++
		}
		if j > i+1 || full < 6 {
			size := base
			if n > 1 {
				size = align8(base + 6*n)
			}
			if single && size > limit-50 {
				if full++; full == 5 {
					limit = s.singleLimit(limit, int(it.size))
				}
			}
			cur.n, cur.size = uint16(n), uint16(size+pgItemID)
		}
		out = append(out, cur)
		i = j
	}
	l.items = out
	l.used = l.high + sum(out)
}

// singleLimit is _bt_singleval_fillfactor: the sixth posting list of a page with
// one value is made smaller so that a 96:4 split leaves it on the left.
func (s *pgLeafSim) singleLimit(limit, newSize int) int {
	leftFree := pgLeafUsable - (newSize + pgHeapTID)
	reduction := int(float64(leftFree) * (1 - pgSingleFill))
	if limit > reduction {
		return limit - reduction
	}
	return 0
}

// align8 rounds up to a multiple of 8 (MAXALIGN).
func align8(n int) int { return (n + 7) &^ 7 }
