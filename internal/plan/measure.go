package plan

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/relplan/relplan/capacity/measure"
	"github.com/relplan/relplan/capacity/storage"
)

// MeasureCase is the table of a store with rows rows, to be loaded and measured.
func (f *File) MeasureCase(s *Store, rows int64) (measure.Case, error) {
	in, ok, err := f.storageInput(s, rows)
	if err != nil {
		return measure.Case{}, err
	}
	if !ok {
		return measure.Case{}, fmt.Errorf("store '%s' has neither columns nor ddl", s.Name)
	}
	if _, err := storage.Estimate(in); err != nil {
		return measure.Case{}, f.sizeError(s, err)
	}
	c := measure.Case{Name: s.Name, Input: in}
	if !in.Engine.Relational() {
		return c, nil
	}
	if !s.DDL.Set {
		return c, fmt.Errorf("measuring needs the CREATE TABLE file of the table")
	}
	path := s.DDL.V
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir, path)
	}
	src, err := os.ReadFile(path)
	c.DDL = string(src)
	c.Name = in.Table.Name + " " + in.Order.String()
	return c, err
}
