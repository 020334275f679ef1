// Package disk tells the failures of a disk that pass from those that do not.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tablewake/tablewake/pipeline"
)

// Failed marks the error of a write to a file or folder: fatal, with what to do,
// where no later try can do better, and transient otherwise. A nil err stays nil.
func Failed(err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "the disk is full: free space and start again, it goes on where it stopped"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "check that the folder may be written, and start again"
	default:
		return pipeline.Transient(err)
	}
	return pipeline.Fatal(fmt.Errorf("%w: %s", err, hint))
}
