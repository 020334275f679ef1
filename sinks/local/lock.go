package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tablewake/tablewake/pipeline/filelock"
)

// LockFile is the name of the file in the folder that processes lock. A program that empties a folder must keep it.
const LockFile = ".lock"

// lockWait is how long Open and Share wait for a lock. A process that only reads the folder ends soon.
const lockWait = time.Second

// Share excludes writers from a folder until release, while its files are read. It fails if a process is writing to the
// folder.
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
