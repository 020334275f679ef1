package file

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// patience is how long the file may be in use before it counts as such: commands that change
// leases have it for a moment.
const patience = 2 * time.Second

// lock keeps other processes from the file at path, by a file beside it: that one is
// replaced, and a lock would go with what it replaces.
func lock(path string) (*filelock.Lock, error) {
	l, err := filelock.Take(context.Background(), lockOf(path), filelock.Exclusive, patience)
	if errors.Is(err, filelock.ErrInUse) {
		err = errs.Errorf("%s is in use by another process: leases in a file are for one; stop that one, or keep leases in a table (leases.table)", redact.Safe(path))
	}
	return l, err
}

func lockOf(path string) string { return path + ".lock" }

// InUse reports whether a process has the file at path open. It keeps nobody from opening it.
func InUse(path string) (bool, error) { return filelock.Taken(lockOf(path)) }

// errLock is the error of a table whose lock somebody removed: another process may have the
// file by now.
func errLock(err error) error {
	return pipeline.Fatal(fmt.Errorf("%w: stop every other process that uses these leases, and start again", err))
}
