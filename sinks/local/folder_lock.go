package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tablewake/tablewake/pipeline/filelock"
)

// LockFile is the name of the file that processes lock, in the folder. A program that empties the folder must keep this
// file.
const LockFile = ".lock"

// lockWait is the time that Open and Share wait for a lock. It is short because a process that only reads the folder
// ends soon.
const lockWait = time.Second

// Share excludes writers from a folder until release is called, so that the caller can read its files. It fails if
// another process has the folder open for writing.
func Share(dir string) (release func() error, err error) {
	lock, err := lockFolder(dir, filelock.Shared)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

func lockFolder(dir string, mode filelock.Mode) (*filelock.Lock, error) {
	if dir == "" {
		return nil, errors.New("local: the folder's name is empty")
	}
	lock, err := filelock.Take(context.Background(), filepath.Join(dir, LockFile), mode, lockWait)
	switch {
	case errors.Is(err, filelock.ErrInUse):
		return nil, fmt.Errorf("%s is in use by another process; wait for it, or take another folder", dir)
	case err != nil:
		return nil, fmt.Errorf("local: %w", err)
	}
	return lock, nil
}
