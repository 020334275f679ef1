package sqlite

import (
	"cmp"
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
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return pipeline.Transient(wrapped)
	}

	result := code(err)
	// SQLite reports a full disk also as a failure of the file.
	isFileError := result == lib.SQLITE_IOERR || result == lib.SQLITE_CANTOPEN
	if isFileError && disk.Full(filepath.Dir(db.path)) {
		result = lib.SQLITE_FULL
	}
	known, isKnown := resultCodes[result]
	if !isKnown {
		return pipeline.Fatal(wrapped)
	}
	return known.mark(errs.Errorf("sqlite: %s %s: %w: %s", redact.Safe(op), redact.Safe(db.path), withCode(err),
		redact.Safe(known.hint)))
}

// resultCode describes a result code of SQLite.
type resultCode struct {
	class string // result of codedError.Describe
	hint  string
	mark  func(error) error // marks the error as transient, fatal or permanent
}

var (
	locked  = resultCode{"locked", "another process is writing to it", pipeline.Transient}
	denied  = resultCode{"permission", "check that the file and its folder may be read and written", pipeline.Fatal}
	damaged = resultCode{"damaged", "it is damaged, or is not a SQLite file: " + refillHint, pipeline.Fatal}
)

// refillHint says how to replace the file of a --local folder. The folder may have the only copy of the history.
const refillHint = "copy DIR/archive and DIR/dead elsewhere, because --fresh removes them, and fill it again with " +
	"`tablewake replay --local DIR --fresh` over the whole history"

var resultCodes = map[int]resultCode{
	lib.SQLITE_BUSY: locked, lib.SQLITE_LOCKED: locked,
	lib.SQLITE_INTERRUPT: {"sqlite", "it was interrupted", pipeline.Transient},
	lib.SQLITE_TOOBIG:    {"too_large", "it is larger than the file can take", pipeline.Permanent},
	lib.SQLITE_FULL:      {"disk_full", disk.FullHint, pipeline.Fatal},
	lib.SQLITE_IOERR: {"disk", "the disk is full or failed: check it and start again, it continues where it stopped",
		pipeline.Fatal},
	lib.SQLITE_READONLY: denied, lib.SQLITE_PERM: denied, lib.SQLITE_CANTOPEN: denied, lib.SQLITE_AUTH: denied,
	lib.SQLITE_CORRUPT: damaged, lib.SQLITE_NOTADB: damaged,
}

// Damaged returns the error of an entry of the file that cannot be read. what describes the entry.
func (db *DB) Damaged(what string, err error) error {
	return pipeline.Fatal(errs.Errorf("sqlite: %s: %s: %w: %s", redact.Safe(db.path), redact.Safe(what),
		&state.DamagedError{Err: err}, refillHint))
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
	return cmp.Or(resultCodes[code(e.error)].class, "sqlite"), ""
}

// Redacted returns the text of the result code.
func (e codedError) Redacted() string { return driver.ErrorCodeString[code(e.error)] }

// Unwrap returns the error of SQLite.
func (e codedError) Unwrap() error { return e.error }
