package plan

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/relplan/relplan/internal/diag"
)

// UseFiles gives the plan a way to read the files it names; paths are relative to
// the working folder.
func (f *File) UseFiles(read func(path string) ([]byte, error)) { f.files = read }

// readFile reads a file that the plan names, relative to the folder of the plan.
func (f *File) readFile(name Value[string]) ([]byte, error) {
	if f.files == nil {
		return nil, errors.New("files cannot be read here")
	}
	path := name.V
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir, path)
	}
	src, err := f.files(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return src, nil
}

// resolve takes the numbers of every call with `from` out of its file.
func (f *File) resolve() error {
	var l diag.List
	for _, n := range f.Nodes {
		for _, c := range n.Calls {
			if c.From != nil && c.read == nil {
				l.AddErr(c.From.Pos, codeRef, errors.New("retry configurations cannot be read yet: write the attempts into the plan"))
			}
		}
	}
	return l.Err()
}
