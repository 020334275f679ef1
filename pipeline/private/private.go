// Package private makes files and folders for their owner alone: they hold items, keys and events. It
// leaves the modes of what is there already.
package private

import (
	"errors"
	"io/fs"
	"os"
)

const (
	folder fs.FileMode = 0o700
	file   fs.FileMode = 0o600
)

// Mkdir makes a folder.
func Mkdir(path string) error { return os.Mkdir(path, folder) }

// MkdirAll makes a folder, and those above it that are missing.
func MkdirAll(path string) error { return os.MkdirAll(path, folder) }

// OpenFile opens a file, which os.O_CREATE makes where it is missing.
func OpenFile(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, file) }

// Create makes a file, or empties the one that is there.
func Create(path string) (*os.File, error) {
	return OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Replace gives f, which is about to be renamed to path, the mode of the file that it replaces.
func Replace(f *os.File, path string) error {
	mode := file
	switch was, err := os.Stat(path); {
	case err == nil:
		mode = was.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return f.Chmod(mode)
}
