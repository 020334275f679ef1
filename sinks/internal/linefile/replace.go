package linefile

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/private"
)

// Replace writes a file atomically and durably: after a crash the file holds all of b, or what
// it held before. If several processes replace it at once, the last one wins.
func Replace(path string, b []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"~*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // after a rename there is none
	_, err = next.Write(b)
	if err == nil {
		err = private.Replace(next, path)
	}
	if err == nil {
		err = next.Sync()
	}
	if err := errors.Join(err, next.Close()); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}
