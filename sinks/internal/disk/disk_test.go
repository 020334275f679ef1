package disk

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
)

func TestFailed(t *testing.T) {
	for _, c := range []struct {
		err   error
		fatal bool
		hint  string
	}{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true, "free space"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, true, "free space"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, true, "may be written"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, true, "may be written"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}, false, ""},
		{errors.New("unheard of"), false, ""},
	} {
		err := Failed(c.err)
		_, again := pipeline.Retryable(err)
		if pipeline.IsFatal(err) != c.fatal || again == c.fatal || !strings.Contains(err.Error(), c.hint) || !errors.Is(err, c.err) {
			t.Errorf("%v: got %v, fatal %v, to be retried %v", c.err, err, pipeline.IsFatal(err), again)
		}
	}
	if Failed(nil) != nil {
		t.Error("no failure became one")
	}
}
