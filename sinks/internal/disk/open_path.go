package disk

import (
	"io/fs"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/filelock"
)

// OpenPath is a path, and the file or folder at the path that a process keeps open for writing. If the file is removed
// or replaced, writes to the open file still succeed, but their data is lost.
type OpenPath struct {
	path string
	info fs.FileInfo
}

// NewOpenPath returns an OpenPath with the file or folder that is at the path now.
func NewOpenPath(path string) (OpenPath, error) {
	info, err := os.Stat(path)
	return OpenPath{path, info}, err
}

// Check returns a fatal error if the file or folder is no longer at the path.
func (o OpenPath) Check() error {
	current, err := filelock.Current(o.path, o.info)
	if err == nil && !current {
		return pipeline.Fatal(
			errs.Errorf("%s was removed or replaced while it was open: put it back, or start again to begin a new one", o.path))
	}
	return Classify(err)
}
