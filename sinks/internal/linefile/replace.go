package linefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace writes a file in one step: whenever the machine stops, what is there is all of b, or
// what was there before. Several processes may replace it at once: one of them is the last.
func Replace(path string, b []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"~*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // which is gone where all went well
	_, err = next.Write(b)
	if err == nil {
		err = next.Chmod(0o644)
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
