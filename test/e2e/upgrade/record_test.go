package upgrade

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/shardreader/leases"
	leasesdynamo "github.com/tablewake/tablewake/shardreader/leases/dynamo"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/e2e/world"
)

var recordFlag = flag.String("record", "", "record what this program writes as testdata/`VERSION`")

// TestRecord records what today's program writes, if -record names a version. Otherwise it records into a folder that
// is removed, so that each test run shows that recording works.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "now")
	if *recordFlag != "" {
		dir = filepath.Join("testdata", *recordFlag)
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("%s is there already, and a recording is never changed", dir)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tablewake.yaml": []byte(everySink), "stream.jsonl": history(180)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := open(t, dir)
	r.recordFolder(t)
	r.recordServers(t)
}

func (r *recording) recordFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := passInFolder(t, r.embedded(t), dir, r.written()); err != nil {
		t.Fatal(err)
	}
	table, err := leasesfile.Open(filepath.Join(dir, "leases.json"), names.Pipeline)
	if err != nil {
		t.Fatal(err)
	}
	fillLeases(t, table)
	if err := errors.Join(table.AddGap(t.Context(), recordedGap()), table.Close()); err != nil {
		t.Fatal(err)
	}
	if err := pack(dir, r.path("folder.tar.gz")); err != nil {
		t.Fatal(err)
	}
}

func (r *recording) recordServers(t *testing.T) {
	t.Helper()
	w := world.Named(t, names, world.Running(t))
	cleanUp(t, w)
	cfg := w.Config(t, t.TempDir(), r.text, w.To)
	if err := passOnServers(t, w, cfg, r.written()); err != nil {
		t.Fatal(err)
	}
	table := openLeases(t, w)
	if err := table.CreateTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	fillLeases(t, table)
	withState(t, w, cfg, func(s state.Store) {
		if err := s.AddGap(t.Context(), recordedGap()); err != nil {
			t.Fatal(err)
		}
	})
	if err := r.save(t, w); err != nil {
		t.Fatal(err)
	}
}

func openLeases(t *testing.T, w *world.World) *leasesdynamo.Table {
	t.Helper()
	table, err := leasesdynamo.New(leasesdynamo.Options{
		Client: dynamodb.NewFromConfig(w.SDK), Table: leaseTable, StateTable: names.State, Pipeline: names.Pipeline, Streams: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// fillLeases stores the recorded leases.
func fillLeases(t *testing.T, table leases.Table) {
	t.Helper()
	for _, l := range recordedLeases() {
		if err := table.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
}

// pack writes the files below dir to an archive.
func pack(dir, file string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return errors.Join(w.Close(), z.Close())
}

// extract is the reverse of pack. Only their owner can use the files and folders, as with those that the program makes.
func extract(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, content, fs.FileMode(0o600))
		}
		if err != nil {
			return err
		}
	}
}
