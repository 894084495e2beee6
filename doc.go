// Package relplan holds only the tests that look at the whole module; the
// libraries are capacity, retrytree, deadline, modelcheck, specs and reports.
package relplan
