// Package private makes files and folders that only their owner can read, because they hold items, keys and events. It
// does not change the modes of existing files and folders.
package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	folderMode fs.FileMode = 0o700
	fileMode   fs.FileMode = 0o600
)

// Mkdir makes a folder.
func Mkdir(path string) error { return os.Mkdir(path, folderMode) }

// MkdirAll makes a folder, and the missing folders above it.
func MkdirAll(path string) error { return os.MkdirAll(path, folderMode) }

// OpenFile opens a file. With os.O_CREATE, it makes a missing file.
func OpenFile(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, fileMode) }

// Create makes a file, or empties an existing one.
func Create(path string) (*os.File, error) {
	return OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// CopyMode prepares f for being renamed to path. It gives f the mode of the file at path. If there is no such file,
// only the owner can read f.
func CopyMode(f *os.File, path string) error {
	replaced, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Chmod(fileMode)
	}
	if err != nil {
		return err
	}
	return f.Chmod(replaced.Mode().Perm())
}

// WriteFile replaces the content of the file at path atomically: neither a crash nor a power failure leaves a part of
// content. It first writes a temporary file, which remains after a crash. If temporaryPath is "", the temporary file
// has a random name in the folder of path. Several processes can then write at the same time, and the last one wins.
func WriteFile(path, temporaryPath string, content []byte) error {
	var f *os.File
	var err error
	if temporaryPath == "" {
		f, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"~*")
	} else {
		f, err = Create(temporaryPath)
	}
	if err != nil {
		return err
	}
	err = errors.Join(writeDurably(f, path, content), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if temporaryPath == "" {
			_ = os.Remove(f.Name())
		}
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// writeDurably writes content to f, which is about to be renamed to path.
func writeDurably(f *os.File, path string, content []byte) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := CopyMode(f, path); err != nil {
		return err
	}
	return f.Sync()
}

// SyncDir makes the entries of a folder durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
