package file

import (
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// lockTimeout is how long Open waits for the lock. Commands that change leases hold the lock only briefly.
const lockTimeout = 2 * time.Second

// lock locks the file at path against other processes. The lock is on a second file, because each write replaces the
// file itself.
func lock(path string) (*filelock.Lock, error) {
	l, err := filelock.Take(context.Background(), lockPath(path), filelock.Exclusive, lockTimeout)
	if errors.Is(err, filelock.ErrInUse) {
		err = errs.Errorf(
			"%s is in use by another process: leases in a file are for one; stop that one, or keep leases in a table (leases.table)", redact.Safe(path))
	}
	return l, err
}

func lockPath(path string) string { return path + ".lock" }

// InUse reports whether a process has the file at path open. It does not lock the file.
func InUse(path string) (bool, error) { return filelock.Taken(lockPath(path)) }
