package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// If a file is removed or replaced while it is open, writes fail fatally.
func TestWrite_ARemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "views.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := func() error {
		return db.Write(t.Context(), func(w *sqlite.Writer) error {
			return w.Transact(func() error { return w.Exec(`CREATE TABLE IF NOT EXISTS "proof" (a)`) })
		})
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := write(); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "was removed or replaced") {
		t.Errorf("a removed file takes a write: %v", err)
	}
	other, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := write(); !pipeline.IsFatal(err) {
		t.Errorf("a file that is another one's takes a write: %v", err)
	}
}

// A transaction that fails or panics changes nothing, and the next transaction can begin.
func TestTransact_Undone(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "views.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	transact := func(end func() error) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = v.(error)
			}
		}()
		return db.Write(t.Context(), func(w *sqlite.Writer) error {
			return w.Transact(func() error {
				if err := w.Exec(`CREATE TABLE "proof" (a)`); err != nil {
					return err
				}
				return end()
			})
		})
	}
	failure := errors.New("failure")
	for range 2 {
		if err := transact(func() error { return failure }); !errors.Is(err, failure) {
			t.Fatalf("a failure came to %v", err)
		}
		if err := transact(func() error { panic(failure) }); !errors.Is(err, failure) {
			t.Fatalf("a panic came to %v", err)
		}
	}
	if err := transact(func() error { return nil }); err != nil {
		t.Errorf("behind what was undone: %v", err)
	}
}
