package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// A transaction that fails or panics leaves nothing, and the next one can begin.
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
			return w.Transact(t.Context(), func() error {
				if err := w.Exec(t.Context(), `CREATE TABLE "proof" (a)`); err != nil {
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
