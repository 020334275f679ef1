package disk

import (
	"io/fs"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/filelock"
)

// Opened is a file or folder that is kept open to be written. Once it is removed or replaced, writes
// still succeed, and what they write is lost.
type Opened struct {
	path string
	info fs.FileInfo
}

// Opening records which file or folder is at the path now.
func Opening(path string) (Opened, error) {
	info, err := os.Stat(path)
	return Opened{path, info}, err
}

// There returns a fatal error if the file is no longer at the path.
func (o Opened) There() error {
	current, err := filelock.Current(o.path, o.info)
	if err == nil && !current {
		return pipeline.Fatal(errs.Errorf("%s was removed or replaced while it was open: put it back, or start again to begin a new one", o.path))
	}
	return Failed(err)
}
