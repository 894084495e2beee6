package plan

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/relplan/relplan/capacity/storage"
)

// SampleInput is what the size of rows rows of a store is computed from, with the
// text of its CREATE TABLE file, for loading a sample into a real engine. The
// text is empty for engines without tables.
func (f *File) SampleInput(s *Store, rows int64) (in storage.Input, ddl string, err error) {
	in, ok, err := f.storageInput(s, rows)
	if err != nil {
		return in, "", err
	}
	if !ok {
		return in, "", fmt.Errorf("store '%s' has neither columns nor ddl", s.Name)
	}
	if _, err := storage.Estimate(in); err != nil {
		return in, "", f.sizeError(s, err)
	}
	if !in.Engine.Relational() {
		return in, "", nil
	}
	if !s.DDL.Set {
		return in, "", fmt.Errorf("measuring needs the CREATE TABLE file of the table")
	}
	path := s.DDL.V
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir, path)
	}
	src, err := os.ReadFile(path)
	return in, string(src), err
}
