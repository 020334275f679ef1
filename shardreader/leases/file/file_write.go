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

// waitDurable waits until the first n changes are on disk. If no write is in flight, the caller itself writes, for all
// callers that wait. The next write contains the changes that arrive during this write.
func (t *Table) waitDurable(ctx context.Context, n int64) error {
	for {
		b, isWriter, err := t.joinBatch(n)
		if b == nil {
			return err
		}
		if isWriter {
			t.runBatch(ctx, b)
		}
		select {
		case <-b.done:
		case <-ctx.Done():
		}
		if b.includes(n) {
			return b.err
		}
		if ctx.Err() != nil {
			return pipeline.Transient(context.Cause(ctx))
		}
	}
}

// joinBatch returns the write in flight, or a new write. If isWriter is true, the caller must run it. b is nil if the
// first n changes are on disk already, or if the table is closed.
func (t *Table) joinBatch(n int64) (b *fileWrite, isWriter bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.savedCount >= n:
		return nil, false, nil
	case t.batch != nil:
		return t.batch, false, nil
	case t.closed:
		return nil, false, t.closedError()
	}
	t.batch = &fileWrite{done: make(chan struct{})}
	return t.batch, true, nil
}

// runBatch writes the file after the pause that must follow the last write, and ends b.
func (t *Table) runBatch(ctx context.Context, b *fileWrite) {
	t.mu.Lock()
	pause := time.Until(t.lastWrite.Add(min(idleFactor*t.lastDuration, maxIdle)))
	t.mu.Unlock()
	if pause <= 0 || pipeline.Sleep(ctx, pause) == nil {
		t.writeFile(b)
	}
	t.mu.Lock()
	t.batch = nil
	t.mu.Unlock()
	close(b.done)
}

// includes reports whether b has ended and its content had the first n changes. The write may have failed.
func (b *fileWrite) includes(n int64) bool {
	select {
	case <-b.done:
		return b.changeCount >= n
	default:
		return false
	}
}

// writeFile writes the file with all changes so far, and sets the result of b.
func (t *Table) writeFile(b *fileWrite) {
	t.mu.Lock()
	start := time.Now()
	b.changeCount = t.changeCount
	content, err := t.encode()
	t.mu.Unlock()
	lockErr := t.lock.Held()
	if err == nil && lockErr == nil {
		err = t.replaceFile(t.path, content)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastWrite = time.Now()
	t.lastDuration = t.lastWrite.Sub(start)
	if lockErr != nil {
		b.err = pipeline.Fatal(fmt.Errorf("%w: stop every other process that uses these leases, and start again", lockErr))
		return
	}
	if err == nil {
		t.savedCount = b.changeCount
	}
	b.err = writeError(t.path, err)
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
	case err == nil:
		return nil
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
