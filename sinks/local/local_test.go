package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func open(t testing.TB, dir string) *local.Stores {
	t.Helper()
	s, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// assembled assembles the pipeline of a file with the stores of a folder.
func assembled(t testing.TB, dir, file string) (*pipeline.Pipeline, *local.Stores, error) {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	stores := open(t, dir)
	p, err := sinks.Assemble(t.Context(), cfg, stores)
	return p, stores, err
}

// assemble assembles the pipeline of a file with the stores of a folder and closes the stores.
func assemble(t testing.TB, dir, file string) error {
	t.Helper()
	_, stores, err := assembled(t, dir, file)
	return errors.Join(err, stores.Close())
}

// Archive sinks with the same bucket share a store. After Close, no more stores can be opened.
func TestStoresAreShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	s := open(t, dir)
	a, err := s.Archive(t.Context(), nil, config.Sink{Name: "a", Archive: &config.Archive{Bucket: "bucket"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Archive(t.Context(), nil, config.Sink{Name: "b", Archive: &config.Archive{Bucket: "bucket"}})
	if err != nil || a != b {
		t.Errorf("two sinks of one bucket have two stores (%v)", err)
	}
	c, err := s.Archive(t.Context(), nil, config.Sink{Name: "c", Archive: &config.Archive{}})
	if err != nil || a == c {
		t.Errorf("a sink without a bucket has the store of another (%v)", err)
	}
	if _, err := s.DeadLetters(t.Context(), nil); err != nil {
		t.Errorf("dead letters that no file names: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Notify(t.Context(), nil, config.Sink{Name: "n", Notify: &config.Notify{}}); err == nil {
		t.Error("a closed bundle opens a store")
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := local.Open(""); err == nil {
		t.Error("a folder without a name opens")
	}
	if _, err := local.Open("/dev/null/x"); err == nil {
		t.Error("a folder below a file opens")
	}
}
