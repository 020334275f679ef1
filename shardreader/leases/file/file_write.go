package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// After a write that took the time d, the next write waits for idleFactor * d, but at most for maxIdle.
const (
	idleFactor = 4
	maxIdle    = 500 * time.Millisecond
)

// fileWrite is a write of the file. It has the changes of all callers that waited for it.
type fileWrite struct {
	number      int64 // 1 for the first write
	changeCount int64 // number of changes in the written content
	ended       time.Time
	took        time.Duration
	err         error
}

// waitDurable waits until the first n changes are on disk. If no write is in flight, the caller itself writes, for all
// callers that wait. The next write contains the changes that arrive during this write.
func (t *Table) waitDurable(ctx context.Context, n int64) error {
	isDurable, before := t.isDurable(n)
	if isDurable {
		return nil
	}
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
	case <-ctx.Done():
		return pipeline.Transient(context.Cause(ctx))
	}
	isDurable, last := t.isDurable(n)
	includedChanges := last.number > before.number && last.changeCount >= n
	switch {
	case isDurable: // even if the last write failed
		return nil
	case includedChanges: // another caller's write failed for this caller too
		return last.err
	case t.isClosed():
		return t.closedError()
	}
	pause := time.Until(last.ended.Add(min(idleFactor*last.took, maxIdle)))
	if pause > 0 && pipeline.Sleep(ctx, pause) != nil {
		return pipeline.Transient(context.Cause(ctx))
	}
	return t.writeFile()
}

// isDurable reports whether the first n changes are on disk. last is the last write that ended.
func (t *Table) isDurable(n int64) (durable bool, last fileWrite) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.savedCount >= n, t.lastWrite
}

func (t *Table) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// writeFile writes the file with all changes so far. No other write is in flight.
func (t *Table) writeFile() error {
	t.mu.Lock()
	w := fileWrite{number: t.lastWrite.number + 1, changeCount: t.changeCount}
	start := time.Now()
	content, err := t.encode()
	t.mu.Unlock()
	lockErr := t.lock.Held()
	if err == nil && lockErr == nil {
		err = t.replaceFile(t.path, content)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w.ended = time.Now()
	w.took = w.ended.Sub(start)
	switch {
	case lockErr != nil:
		w.err = pipeline.Fatal(fmt.Errorf("%w: stop every other process that uses these leases, and start again", lockErr))
	case err != nil:
		w.err = writeError(t.path, err)
	default:
		t.savedCount = w.changeCount
	}
	t.lastWrite = w
	return w.err
}

// replace atomically replaces the file at path by a file with this content.
func replace(path string, content []byte) error {
	dir, name := filepath.Split(path)
	return private.WriteFile(path, filepath.Join(dir, "."+name+".new"), content)
}

// writeError marks the error of a write as transient, or as fatal if a retry cannot help.
func writeError(path string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "the disk is full: free space and start again, it continues where it stopped"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrNotExist):
		hint = "check that the folder is there and may be written, and start again"
	default:
		return pipeline.Transient(&Error{path, err, ""})
	}
	return pipeline.Fatal(&Error{path, err, hint})
}

// Error is a failed write of the file.
type Error struct {
	Path string
	Err  error
	Hint string // advice to the operator; "" if the write is retried
}

var _ redact.Redacted = (*Error)(nil)

// Error returns "writing PATH: cause: hint".
func (e *Error) Error() string {
	s := "writing " + e.Path + ": " + e.Err.Error()
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// Redacted returns Error: paths and system errors contain no data of items.
func (e *Error) Redacted() string { return e.Error() }

// Describe returns the class of the system's error.
func (e *Error) Describe() (class, field string) { return redact.ErrorClass(e.Err), "" }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
