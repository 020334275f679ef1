package file

import (
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// patience is how long Open waits for the lock. Commands that change leases have the lock for a
// moment only.
const patience = 2 * time.Second

// lock locks the file at path against other processes. The lock is on a file beside it, since the
// file itself is replaced by each write.
func lock(path string) (*filelock.Lock, error) {
	l, err := filelock.Take(context.Background(), lockOf(path), filelock.Exclusive, patience)
	if errors.Is(err, filelock.ErrInUse) {
		err = errs.Errorf("%s is in use by another process: leases in a file are for one; stop that one, or keep leases in a table (leases.table)", redact.Safe(path))
	}
	return l, err
}

func lockOf(path string) string { return path + ".lock" }

// InUse reports whether a process has the file at path open. It does not lock the file.
func InUse(path string) (bool, error) { return filelock.Taken(lockOf(path)) }
