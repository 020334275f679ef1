package lost

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// folderLosses are losses that may happen to a folder of embedded stores. old is an earlier copy of the folder.
var folderLosses = map[string]func(t *testing.T, dir, old local.Dir, n world.Names){
	"views.db deleted": func(t *testing.T, dir, _ local.Dir, _ world.Names) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.RemoveAll(dir.Views() + suffix); err != nil {
				t.Fatal(err)
			}
		}
	},
	"an older views.db put back": func(t *testing.T, dir, old local.Dir, _ world.Names) {
		copied(t, old.Views(), dir.Views())
	},
	"the archive deleted":    func(t *testing.T, dir, _ local.Dir, n world.Names) { removed(t, dir.Archive(n.Bucket)) },
	"nothing (for the test)": func(*testing.T, local.Dir, local.Dir, world.Names) {},
}

func removed(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever is lost in a folder of embedded stores, and however the pipeline continues, the result is a refusal or that
// of a clean pass.
func TestFolder_NothingDoubledNothingMissing(t *testing.T) {
	for name, lose := range folderLosses {
		for _, then := range []string{"continues", "replays all"} {
			t.Run(name+", "+then, func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				rng := rand.New(rand.NewPCG(seed, 1))
				records := history(rng, 60)
				w := &world.World{Names: world.NewNames()}
				cfg := w.Config(t, t.TempDir(), every, world.Endpoints{OpenSearch: "http://unused"})
				want := world.Embedded(t, cfg, w.Names, records)
				dir, old := local.Dir(t.TempDir()), local.Dir(t.TempDir())
				first, second := 10+rng.IntN(20), 30+rng.IntN(20)
				for i, part := range [][][]byte{records[:first], records[first:second]} {
					if err := inFolder(t, cfg, dir, part); err != nil {
						t.Fatalf("seed %d: part %d: %v", seed, i, err)
					}
					if i == 0 {
						if err := os.CopyFS(filepath.Join(string(old), "x"), os.DirFS(string(dir))); err != nil {
							t.Fatal(err)
						}
						old = local.Dir(filepath.Join(string(old), "x"))
					}
				}
				lose(t, dir, old, w.Names)
				rest := records[second:]
				if then == "replays all" {
					rest = records
				}
				if err := inFolder(t, cfg, dir, rest); err != nil {
					refused(t, name, err)
					adoptFolder(t, cfg, dir)
					if err := inFolder(t, cfg, dir, records); err != nil {
						t.Fatalf("seed %d: after it was adopted: %v", seed, err)
					}
				}
				t.Logf("seed %d", seed)
				same(t, want, world.ReadEmbedded(t, dir, w.Names))
			})
		}
	}
}

// adoptFolder accepts the present contents of a folder.
func adoptFolder(t *testing.T, cfg *config.Config, dir local.Dir) {
	t.Helper()
	stores, err := local.Open(string(dir))
	if err != nil {
		t.Fatal(err)
	}
	all, err := sinks.Adopt(t.Context(), cfg, stores, "")
	if err == nil {
		err = sinks.Accept(t.Context(), cfg, stores, all)
	}
	if err := errors.Join(err, stores.Close()); err != nil {
		t.Fatal(err)
	}
}

func inFolder(t *testing.T, cfg *config.Config, dir local.Dir, records [][]byte) error {
	t.Helper()
	stores, err := local.Open(string(dir))
	if err != nil {
		return err
	}
	return errors.Join(pass(t, cfg, stores, records), stores.Close())
}
