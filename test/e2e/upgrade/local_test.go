package upgrade

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// leasesReader and gapsReader have the methods that tables and files of leases have in common.
type (
	leasesReader interface {
		Read(ctx context.Context) (leases.Snapshot, error)
	}
	gapsReader interface {
		Gaps(ctx context.Context) iter.Seq2[state.NotedGap, error]
	}
)

// recordings calls f for each recording.
func recordings(t *testing.T, f func(t *testing.T, r *recording)) {
	dirs, err := filepath.Glob("testdata/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recording: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { f(t, open(t, dir)) })
	}
}

// unused has an endpoint that no embedded store uses.
var unused = world.Endpoints{OpenSearch: "http://unused"}

// embedded returns the configuration of a recording for embedded stores.
func (r *recording) embedded(t *testing.T) *config.Config {
	t.Helper()
	w := &world.World{Names: names}
	return w.Config(t, t.TempDir(), r.text, unused)
}

// A folder of an earlier program is continued to the result of one clean pass, or refused with the command that fills
// it again.
func TestFolder(t *testing.T) {
	recordings(t, func(t *testing.T, r *recording) {
		cfg := r.embedded(t)
		dir := t.TempDir()
		if err := extract(r.path("folder.tar.gz"), dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(local.Dir(dir).Views()); err != nil {
			t.Fatal(err)
		}
		err := passInFolder(t, cfg, dir, r.records)
		if err != nil {
			refusal(t, err)
			dir = t.TempDir() // like `tablewake replay --local DIR --fresh`
			if err := passInFolder(t, cfg, dir, r.records); err != nil {
				t.Fatal(err)
			}
		}
		same(t, world.ReadEmbedded(t, local.Dir(dir), names), world.Embedded(t, cfg, names, r.records))
	})
}

// A lease file of an earlier program has the same leases and gaps, or is refused with a command that helps.
func TestLeaseFile(t *testing.T) {
	recordings(t, func(t *testing.T, r *recording) {
		dir := t.TempDir()
		if err := extract(r.path("folder.tar.gz"), dir); err != nil {
			t.Fatal(err)
		}
		table, err := leasesfile.Open(filepath.Join(dir, "leases.json"), names.Pipeline)
		if err != nil {
			refusal(t, err)
			return
		}
		defer func() { _ = table.Close() }()
		checkLeases(t, table)
		checkGap(t, table)
	})
}

// checkLeases checks that a table has the recorded leases.
func checkLeases(t *testing.T, table leasesReader) {
	t.Helper()
	got, err := table.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := recordedLeases()
	if len(got.Leases) != len(want) {
		t.Fatalf("%d leases, want %d: %+v", len(got.Leases), len(want), got.Leases)
	}
	got.Sort()
	for i, l := range got.Leases {
		l.Opaque = ""
		l.Owner, l.Counter = want[i].Owner, want[i].Counter // the only process of a file takes them again
		if !l.Equal(want[i]) {
			t.Errorf("lease %+v, want %+v", l, want[i])
		}
	}
}

// checkGap checks that a state has the recorded gap.
func checkGap(t *testing.T, s gapsReader) {
	t.Helper()
	var found []state.NotedGap
	for g, err := range s.Gaps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, g)
	}
	if len(found) != 1 {
		t.Fatalf("the gaps are %+v", found)
	}
	got, want := found[0].Gap, recordedGap()
	got.Found, got.From, got.To = want.Found, got.From.UTC(), got.To.UTC()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the gap is %+v, want %+v", got, want)
	}
}

// refusal checks the error of a program that does not read the stores of an earlier program. The error must end the
// run, and name the command that fills the sinks again.
func refusal(t *testing.T, err error) {
	t.Helper()
	if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "`tablewake ") && !strings.Contains(err.Error(), "--fresh") {
		t.Fatalf("refused without a command: %v", err)
	}
	t.Logf("refused: %v", err)
}

// passInFolder runs [pass] in a folder of embedded stores.
func passInFolder(t *testing.T, cfg *config.Config, dir string, records [][]byte) error {
	t.Helper()
	stores, err := local.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(pass(t, cfg, stores, records), stores.Close())
}
