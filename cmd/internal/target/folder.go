package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	statesqlite "github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// WithViews opens the view tables of a folder.
func WithViews(ctx context.Context, dir local.Dir, do func(*sqlite.Store) error) error {
	if Missing(dir.Views()) {
		return fmt.Errorf("the folder holds no views: its configuration has none")
	}
	db, err := sqlite.Open(ctx, dir.Views(), sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// ReadState reads what a folder remembers of a pipeline, which a consumer may work on meanwhile. A folder without
// state remembers nothing.
func ReadState(ctx context.Context, dir local.Dir, pipeline string, do func(*statesqlite.State) error) error {
	if Missing(dir.Views()) {
		return nil
	}
	db, err := statesqlite.Open(ctx, dir.Views(), statesqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(do(db.State(pipeline)), db.Close())
}

// Missing tells whether there is nothing at a path.
func Missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// EachLetter hands each letter of a folder to do. Lines that are none are logged.
func EachLetter(ctx context.Context, dir local.Dir, log *slog.Logger, do func(pipeline.DeadLetter) error) error {
	if Missing(dir.DeadLetters()) {
		return nil
	}
	store, err := deaddir.New(deaddir.Options{Dir: dir.DeadLetters(), Logger: log})
	if err != nil {
		return err
	}
	defer store.Close()
	for l, err := range store.Read(ctx) {
		if err != nil {
			return err
		}
		if err := do(l); err != nil {
			return err
		}
	}
	return nil
}

// EachMark hands each quarantined key to do.
func EachMark(ctx context.Context, of state.Quarantine, do func(state.Mark) error) error {
	for m, err := range of.Marks(ctx, "") {
		if err == nil {
			err = do(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WroteLocal is an error where dir is no folder that a replay wrote.
func WroteLocal(dir string) error {
	_, err := os.Stat(filepath.Join(dir, ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no folder that a replay wrote: run `tablewake replay -c FILE --local %s PATH` first", dir, dir)
	}
	return err
}
