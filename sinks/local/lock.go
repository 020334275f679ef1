package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tablewake/tablewake/pipeline/filelock"
)

// LockFile is the name of the file in the folder by which processes exclude each other. Who
// empties a folder leaves it.
const LockFile = ".lock"

// patience is how long a folder may be in use before it counts as such: looking into one takes
// a moment.
const patience = time.Second

// Share keeps everybody from writing a folder until release, for who reads its files. The error
// says so where somebody is writing it.
func Share(dir string) (release func() error, err error) {
	lock, err := take(dir, filelock.Shared)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

func take(dir string, mode filelock.Mode) (*filelock.Lock, error) {
	if dir == "" {
		return nil, errors.New("local: the folder's name is empty")
	}
	lock, err := filelock.Take(context.Background(), filepath.Join(dir, LockFile), mode, patience)
	switch {
	case errors.Is(err, filelock.ErrInUse):
		return nil, fmt.Errorf("%s is in use by another process; wait for it, or take another folder", dir)
	case err != nil:
		return nil, fmt.Errorf("local: %w", err)
	}
	return lock, nil
}
