// Package disk distinguishes transient failures of a disk from fatal ones.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// FullHint is the hint in errors of a full disk.
const FullHint = "the disk is full: free space and start again, it continues where it stopped"

// Classify marks the error of a write to a file or folder. If no retry can succeed, the error is fatal and its text has
// a hint. Otherwise the error is transient. Classify returns nil if err is nil.
func Classify(err error) error {
	hint := ""
	switch {
	case isFull(err):
		hint = FullHint
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "check that the folder may be written, and start again"
	default:
		return pipeline.Transient(err)
	}
	return pipeline.Fatal(errs.Errorf("%w: %s", err, redact.Safe(hint)))
}

// isFull reports whether err means that there is no space: on the disk, in the quota of the user, or in one file.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// probeBytes is the number of bytes that Full writes.
const probeBytes = 64 << 10

// Full reports whether a folder has no space for a small file. It tries to write such a file. Callers need Full because
// SQLite does not report why a write failed.
func Full(dir string) bool {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return isFull(err)
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	return isFull(errors.Join(err, f.Close(), os.Remove(f.Name())))
}

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("disk")
