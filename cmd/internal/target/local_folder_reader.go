package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/local"
	statesqlite "github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// WithViews opens the view tables of a folder read-only, calls do and closes the tables.
func WithViews(ctx context.Context, dir local.Dir, do func(*sqlite.Store) error) error {
	if IsMissing(dir.Views()) {
		return fmt.Errorf("the folder holds no views: its configuration has none")
	}
	db, err := sqlite.Open(ctx, dir.Views(), sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// ReadState opens the state of a pipeline in a folder read-only, and calls do. A consumer may use the folder at the
// same time. If the folder has no state, do is not called.
func ReadState(ctx context.Context, dir local.Dir, pipeline string, do func(*statesqlite.State) error) error {
	if IsMissing(dir.Views()) {
		return nil
	}
	db, err := statesqlite.Open(ctx, dir.Views(), statesqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(do(db.State(pipeline)), db.Close())
}

// IsMissing reports whether path does not exist.
func IsMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Letters yields the dead letters of a folder, and logs lines that are not dead letters. An error ends the sequence.
func Letters(ctx context.Context, dir local.Dir, log *slog.Logger) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		if IsMissing(dir.DeadLetters()) {
			return
		}
		store, err := deaddir.New(deaddir.Options{Dir: dir.DeadLetters(), Logger: log})
		if err != nil {
			yield(pipeline.DeadLetter{}, err)
			return
		}
		defer store.Close()
		store.Read(ctx)(yield)
	}
}

// CountSetAside counts the broken lines that were set aside from the files of folder. They are in files *.broken.
func CountSetAside(folder string) (lines int64, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".broken") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return 0, err
		}
		lines += int64(bytes.Count(content, []byte("\n")))
	}
	return lines, nil
}

// CheckLocalFolder returns an error if dir is not a --local folder, which always has an owner file.
func CheckLocalFolder(dir string) error {
	_, err := os.Stat(filepath.Join(dir, ownerFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := checkLostOwner(dir); err != nil {
		return err
	}
	return fmt.Errorf("%s is not a folder that a replay wrote: run `tablewake replay -c FILE --local %s PATH` first", dir,
		dir)
}
