package file_test

import (
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/statetest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// open opens the file at path, which is closed when the test ends.
func open(t *testing.T, path string) *file.Table {
	t.Helper()
	table, err := file.Open(path, "shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

func TestGaps(t *testing.T) {
	statetest.RunGaps(t, func(t *testing.T) state.Gaps { return open(t, filepath.Join(t.TempDir(), "leases.json")) })
}

func TestConformance(t *testing.T) {
	leasestest.Run(t, func(t *testing.T) leases.Table { return open(t, filepath.Join(t.TempDir(), "new", "leases.json")) })
}
