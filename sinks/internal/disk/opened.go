package disk

import (
	"errors"
	"io/fs"
	"os"

	"github.com/tablewake/tablewake/pipeline"
)

// Opened is a file or folder that somebody keeps open to write it. Removed or replaced, it
// would still take what is written, and nobody would ever find that.
type Opened struct {
	path string
	info fs.FileInfo
}

// Opening notes which file or folder is at the path now.
func Opening(path string) (Opened, error) {
	info, err := os.Stat(path)
	return Opened{path, info}, err
}

// There is a fatal error where that file is not at the path any more.
func (o Opened) There() error {
	now, err := os.Stat(o.path)
	switch {
	case err == nil && os.SameFile(o.info, now):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return pipeline.Fatal(errs.Errorf("%s was removed or replaced while it was open: put it back, or start again to begin a new one", o.path))
	}
	return Failed(err)
}
