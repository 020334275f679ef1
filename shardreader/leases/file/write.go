package file

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// The pace of writing: after a write that took d the next one begins idle * d later, at most maxIdle.
const (
	idle    = 4
	maxIdle = 500 * time.Millisecond
)

// durable returns when the first changes are on disk. Of those who wait for a change, one
// writes for all; what comes meanwhile is the next one's.
func (t *Table) durable(ctx context.Context, changes int64) error {
	for {
		t.mu.Lock()
		if t.saved >= changes {
			t.mu.Unlock()
			return nil
		}
		b := t.batch
		mine := b == nil
		if mine && t.closed {
			t.mu.Unlock()
			return t.isClosed()
		}
		if mine {
			b = &batch{done: make(chan struct{})}
			t.batch = b
		}
		rest := time.Until(t.written.Add(min(idle*t.took, maxIdle)))
		t.mu.Unlock()
		if mine {
			if rest <= 0 || pipeline.Sleep(ctx, rest) == nil {
				t.write(b)
			}
			t.mu.Lock()
			t.batch = nil
			t.mu.Unlock()
			close(b.done)
		}
		select {
		case <-b.done:
		case <-ctx.Done():
		}
		switch {
		case ctx.Err() != nil && !finished(b, changes):
			return pipeline.Transient(context.Cause(ctx))
		case finished(b, changes):
			return b.err
		}
	}
}

// finished tells whether b has ended, and was to write these changes.
func finished(b *batch, changes int64) bool {
	select {
	case <-b.done:
		return b.upTo >= changes
	default:
		return false
	}
}

// write writes the file as it is now.
func (t *Table) write(b *batch) {
	t.mu.Lock()
	begun := time.Now()
	b.upTo = t.changed
	content, err := t.content()
	t.mu.Unlock()
	lost := t.lock.Held()
	if err == nil && lost == nil {
		err = t.save(t.path, content)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written = time.Now()
	t.took = t.written.Sub(begun)
	switch {
	case lost != nil:
		b.err = errLock(lost)
		return
	case err == nil:
		t.saved = b.upTo
	}
	b.err = failed(t.path, err)
}

// replace makes content all that the file at path holds, in one step.
func replace(path string, content []byte) error {
	dir, name := filepath.Split(path)
	return private.WriteFile(path, filepath.Join(dir, "."+name+".new"), content)
}

// failed marks the error of a write: fatal where no later try can do better.
func failed(path string, err error) error {
	hint := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "the disk is full: free space and start again, it goes on where it stopped"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrNotExist):
		hint = "check that the folder is there and may be written, and start again"
	default:
		return pipeline.Transient(&Error{path, err, ""})
	}
	return pipeline.Fatal(&Error{path, err, hint})
}

// Error is a file that could not be written.
type Error struct {
	Path string
	Err  error
	Hint string // what to do; "" where another try may do
}

var _ redact.Redacted = (*Error)(nil)

// Error reads "writing PATH: cause: hint".
func (e *Error) Error() string {
	s := "writing " + e.Path + ": " + e.Err.Error()
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// Redacted is Error: paths and errors of the system are no values of items.
func (e *Error) Redacted() string { return e.Error() }

// Describe is the class of the system's error.
func (e *Error) Describe() (class, field string) { return redact.ErrorClass(e.Err), "" }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }
