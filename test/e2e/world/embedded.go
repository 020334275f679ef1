package world

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	"github.com/tablewake/tablewake/sinks/search"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// Embedded returns the contents of the embedded stores after one clean pass.
func Embedded(t *testing.T, cfg *config.Config, n Names, records [][]byte) State {
	t.Helper()
	dir := t.TempDir()
	stores, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Finite())
	if err != nil {
		t.Fatal(err)
	}
	Pass(t, p, records)
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	return ReadEmbedded(t, local.Dir(dir), n)
}

// ReadEmbedded returns the contents of a folder of embedded stores.
func ReadEmbedded(t *testing.T, dir local.Dir, n Names) State {
	t.Helper()
	s := NewState()
	s.readRows(t, dir, n)
	s.readDocuments(t, dir, n)
	s.readLetters(t, dir)
	for _, sink := range []string{"on_completed", "mail"} {
		for line, err := range jsonl.Read(dir.Events(sink)) {
			if err != nil {
				t.Fatal(err)
			}
			s.event(t, line)
		}
	}
	s.readArchive(t, dir.Archive(n.Bucket))
	return s
}

func (s State) readRows(t *testing.T, dir local.Dir, n Names) {
	t.Helper()
	views, err := sqlite.Open(t.Context(), dir.Views(), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range views.Rows(t.Context(), view.Table{Name: n.Table}, view.Query{}) {
		if errors.Is(err, view.ErrNoTable) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s.row(sdkvalue.Item(row.Item))
	}
	if err := views.Close(); err != nil {
		t.Fatal(err)
	}
}

func (s State) readDocuments(t *testing.T, dir local.Dir, n Names) {
	t.Helper()
	index, err := searchsqlite.OpenReader(t.Context(), dir.Views())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{n.Index, n.Index + "-orders"} {
		for d, err := range index.Documents(t.Context(), name) {
			if errors.Is(err, search.ErrNoIndex) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			s.document(t, d.ID, d.Doc)
		}
	}
	if err := index.Close(); err != nil {
		t.Fatal(err)
	}
}

func (s State) readLetters(t *testing.T, dir local.Dir) {
	t.Helper()
	dead, err := deaddir.New(deaddir.Options{Dir: dir.DeadLetters()})
	if err != nil {
		t.Fatal(err)
	}
	for l, err := range dead.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		s[Letters][fmt.Sprint(l.Sink, " ", l.Key, " ", l.Version)] = ""
	}
}

// readArchive reads the objects of an archive in a folder.
func (s State) readArchive(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return nil // nothing is archived
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			if strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir // files of the store itself
			}
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		s.object(t, filepath.ToSlash(name), body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
