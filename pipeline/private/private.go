// Package private makes files and folders for their owner alone: they hold items, keys and events. It
// leaves the modes of what is there already.
package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// WriteFile makes content all that the file at path holds, in one step: neither a crash nor a power failure leaves a
// part of it. It writes the file next first, which a crash leaves behind. Where next is "", that is one of its own
// beside path, and if several processes write at once, the last one wins.
func WriteFile(path, next string, content []byte) (err error) {
	var f *os.File
	if next == "" {
		f, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"~*")
	} else {
		f, err = Create(next)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = Replace(f, path)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if next == "" {
			_ = os.Remove(f.Name())
		}
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a folder durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
