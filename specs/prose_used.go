package specs

import "github.com/relplan/relplan/specs/ast"

// usedThings are the resources and tables that some process of a variant touches;
// what belongs to other variants only is not told.
type usedThings struct {
	resources map[*ast.Resource]bool
	tables    map[*ast.Table]bool
	timed     map[*ast.Resource]bool // some step gives a key a ttl
}

func usedIn(tree *ast.Spec) *usedThings {
	u := &usedThings{resources: map[*ast.Resource]bool{}, tables: map[*ast.Table]bool{}, timed: map[*ast.Resource]bool{}}
	for _, p := range tree.Processes {
		if t := p.Trigger; t != nil {
			u.resource(t.Queue)
			u.resource(t.Store)
			u.table(t.Table)
		}
		for _, s := range p.All {
			u.resource(s.Resource)
			u.table(s.Table)
			if s.TTL != nil {
				u.timed[s.Resource] = true
			}
		}
	}
	return u
}

// resource marks a resource, and the queues that its messages go to by themselves.
func (u *usedThings) resource(r *ast.Resource) {
	if r == nil || u.resources[r] {
		return
	}
	u.resources[r] = true
	if r.Queue != nil {
		u.resource(r.Queue.DeadLetter)
	}
}

func (u *usedThings) table(t *ast.Table) {
	if t != nil {
		u.tables[t] = true
		u.resource(t.Resource)
	}
}
