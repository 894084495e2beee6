package plan

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/relplan/relplan/capacity/storage"
)

// Sample is the table of a store as it is to be loaded and measured.
type Sample struct {
	Name  string
	Input storage.Input
	DDL   string // text of its CREATE TABLE file, for relational engines
}

// Sample gives the table of a store with that many rows.
func (f *File) Sample(s *Store, rows int64) (Sample, error) {
	in, ok, err := f.storageInput(s, rows)
	if err != nil {
		return Sample{}, err
	}
	if !ok {
		return Sample{}, fmt.Errorf("store '%s' has neither columns nor ddl", s.Name)
	}
	if _, err := storage.Estimate(in); err != nil {
		return Sample{}, f.sizeError(s, err)
	}
	c := Sample{Name: s.Name, Input: in}
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
