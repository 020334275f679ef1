package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("state")

// viewErrs creates the errors about the output of views. They have the class of package view.
const viewErrs = redact.Class("view")

var errClosed = errs.New("the store is closed or was opened to be read")

// WrapError adds the operation, the file and a hint to an error of SQLite. The result is transient if another process
// uses the file or the call was cancelled. It is permanent if a value is too large. Otherwise it is fatal, because the
// file cannot be written at all. WrapError returns nil if err is nil.
func (db *DB) WrapError(op string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := errs.Errorf("sqlite: %s %s: %w", redact.Safe(op), redact.Safe(db.path), withCode(err))
	withHint := func(hint string) error {
		return errs.Errorf("sqlite: %s %s: %w: %s", redact.Safe(op), redact.Safe(db.path), withCode(err), redact.Safe(hint))
	}

	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return pipeline.Transient(wrapped)
	}

	result := code(err)
	isFileError := result == lib.SQLITE_IOERR || result == lib.SQLITE_CANTOPEN
	if isFileError && disk.Full(filepath.Dir(db.path)) {
		result = lib.SQLITE_FULL
	}
	switch result {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return pipeline.Transient(withHint("another process is writing to it"))
	case lib.SQLITE_INTERRUPT:
		return pipeline.Transient(withHint("it was interrupted"))
	case lib.SQLITE_TOOBIG:
		return withHint("it is larger than the file can take")
	case lib.SQLITE_FULL:
		return pipeline.Fatal(withHint(disk.FullHint))
	case lib.SQLITE_IOERR:
		return pipeline.Fatal(withHint("the disk is full or failed: check it and start again, it continues where it stopped"))
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_AUTH:
		return pipeline.Fatal(withHint("check that the file and its folder may be read and written"))
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return pipeline.Fatal(withHint("it is damaged or no SQLite file: move it away and replay"))
	}
	return pipeline.Fatal(wrapped)
}

// Damaged returns the error of an entry of the file that cannot be read. what describes the entry.
func (db *DB) Damaged(what string, err error) error {
	return pipeline.Fatal(errs.Errorf("sqlite: %s: %s: %w: move the file away and replay", redact.Safe(db.path),
		redact.Safe(what), &state.DamagedError{Err: err}))
}

// CanceledError returns the transient error of a call whose context ended before anything was written.
func CanceledError(ctx context.Context) error {
	return pipeline.Transient(errs.Errorf("sqlite: stopped: %w", context.Cause(ctx)))
}

// IsTooBig reports whether SQLite refused a value because of its size.
func IsTooBig(err error) bool { return code(err) == lib.SQLITE_TOOBIG }

// noTransaction reports whether a rollback failed because no transaction was open.
func noTransaction(err error) bool {
	return code(err) == lib.SQLITE_ERROR && strings.Contains(err.Error(), "no transaction")
}

// code returns the primary result code of a SQLite error, or -1 for any other error.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return -1
}

// codedError is an error of SQLite. Its text may contain values. So logs show the text of its result code instead.
type codedError struct{ error }

// withCode wraps an error of SQLite in a codedError. It returns any other error unchanged.
func withCode(err error) error {
	if code(err) < 0 {
		return err
	}
	return codedError{err}
}

// Describe returns the class of the code.
func (e codedError) Describe() (class, field string) {
	switch code(e.error) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return "locked", ""
	case lib.SQLITE_FULL:
		return "disk_full", ""
	case lib.SQLITE_IOERR:
		return "disk", ""
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_AUTH:
		return "permission", ""
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return "damaged", ""
	case lib.SQLITE_TOOBIG:
		return "too_large", ""
	}
	return "sqlite", ""
}

// Redacted returns the text of the result code.
func (e codedError) Redacted() string { return driver.ErrorCodeString[code(e.error)] }

// Unwrap returns the error of SQLite.
func (e codedError) Unwrap() error { return e.error }
