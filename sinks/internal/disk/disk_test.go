package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
)

// A file that was removed or replaced is not there, whatever is at its path.
func TestOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := NewOpenPath(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file opens: %v", err)
	}
	write := func(path string) {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(path)
	o, err := NewOpenPath(path)
	if err != nil || o.Check() != nil {
		t.Fatalf("%v, %v", err, o.Check())
	}
	write(path + "~")
	for _, change := range []func() error{
		func() error { return os.Rename(path+"~", path) },
		func() error { return os.Remove(path) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := o.Check(); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "start again") {
			t.Errorf("changed, it is there: %v", err)
		}
	}
}

func TestFailed(t *testing.T) {
	for _, c := range []struct {
		err   error
		fatal bool
		hint  string
	}{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true, "free space"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, true, "free space"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EFBIG}, true, "the disk is full"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, true, "may be written"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, true, "may be written"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}, false, ""},
		{errors.New("unheard of"), false, ""},
	} {
		err := Classify(c.err)
		_, again := pipeline.Retryable(err)
		if pipeline.IsFatal(err) != c.fatal || again == c.fatal || !strings.Contains(err.Error(), c.hint) || !errors.Is(err, c.err) {
			t.Errorf("%v: got %v, fatal %v, to be retried %v", c.err, err, pipeline.IsFatal(err), again)
		}
	}
	if Classify(nil) != nil {
		t.Error("no failure became one")
	}
}

// A folder that accepts a file has space, and nothing of the try stays. A folder that refuses it for another reason is
// not full.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	if Full(dir) {
		t.Error("a folder with room is full")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v (%v)", left, err)
	}
	if Full(filepath.Join(dir, "none")) {
		t.Error("a folder that is not there is full")
	}
}
