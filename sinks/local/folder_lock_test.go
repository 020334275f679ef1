package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/sinks/local"
)

// A folder can have either one writer or any number of readers. A refused process can open the folder after the others
// have closed it.
func TestWhoHasTheFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		refused := func(err error, who string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), dir+" is in use by another process; wait for it, or take another folder") {
				t.Errorf("%s is let in: %v", who, err)
			}
		}
		writer := open(t, dir)
		_, err := local.Open(dir)
		refused(err, "a second writer")
		_, err = local.Share(dir)
		refused(err, "a reader beside a writer")
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		first, err := local.Share(dir)
		if err != nil {
			t.Fatal(err)
		}
		second, err := local.Share(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = local.Open(dir)
		refused(err, "a writer beside readers")
		if err := errors.Join(first(), second()); err != nil {
			t.Fatal(err)
		}
		if err := open(t, dir).Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := local.Share(""); err == nil {
		t.Error("a folder without a name is shared")
	}
}

// If a folder is removed and created again, the writer of the old folder does not lock the new folder.
func TestTheFolderIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	writer := open(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(open(t, dir).Close(), writer.Close()); err != nil {
		t.Error(err)
	}
}
