package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/tablewake/tablewake/pipeline"
)

var errClosed = errors.New("the store is closed or was opened to be read")

// failed says what could not be done, and what to do about it: transient where
// another process has the file, fatal where the file is at fault, since then no row
// can be written. A nil err stays nil.
func (s *Store) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	wrap := func(hint string) error { return fmt.Errorf("sqlite: %s %s: %w: %s", op, s.path, err, hint) }
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return pipeline.Transient(wrap("another process is writing to it"))
	case lib.SQLITE_INTERRUPT:
		return pipeline.Transient(wrap("it was interrupted"))
	case lib.SQLITE_FULL:
		return pipeline.Fatal(wrap("the disk is full: free space and start again, it goes on where it stopped"))
	case lib.SQLITE_IOERR:
		return pipeline.Fatal(wrap("the disk failed or is full: check it and start again"))
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_AUTH:
		return pipeline.Fatal(wrap("check that the file and its folder may be read and written"))
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return pipeline.Fatal(wrap("it is damaged or no SQLite file: move it away and replay"))
	}
	return pipeline.Fatal(fmt.Errorf("sqlite: %s %s: %w", op, s.path, err))
}

// stopped is the error of a call whose context is done before anything was written.
func stopped(ctx context.Context) error {
	return pipeline.Transient(fmt.Errorf("sqlite: stopped: %w", context.Cause(ctx)))
}

func tooBig(err error) bool { return code(err) == lib.SQLITE_TOOBIG }

// noTransaction tells whether a rollback failed because there was nothing to roll back.
func noTransaction(err error) bool {
	return code(err) == lib.SQLITE_ERROR && strings.Contains(err.Error(), "no transaction")
}

// code is the primary result code of a SQLite error, and -1 of any other.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return -1
}
