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

// IsFull is the hint in errors of a full disk.
const IsFull = "the disk is full: free space and start again, it goes on where it stopped"

// Failed marks the error of a write to a file or folder. The error is fatal if no retry can succeed; then its text has
// a hint. Otherwise it is transient. Failed returns nil if err is nil.
func Failed(err error) error {
	hint := ""
	switch {
	case full(err):
		hint = IsFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "check that the folder may be written, and start again"
	default:
		return pipeline.Transient(err)
	}
	return pipeline.Fatal(errs.Errorf("%w: %s", err, redact.Safe(hint)))
}

// full reports whether err says that there is no room: on the disk, for its user, or in one file.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// probed is the number of bytes that Full writes.
const probed = 64 << 10

// Full reports whether a folder has no space for a small file. It finds out by writing one. Callers need it because
// SQLite does not report why a write failed.
func Full(dir string) bool {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return full(err)
	}
	_, err = f.Write(make([]byte, probed))
	if err == nil {
		err = f.Sync()
	}
	return full(errors.Join(err, f.Close(), os.Remove(f.Name())))
}
