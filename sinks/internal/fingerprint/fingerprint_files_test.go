package fingerprint_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/sinks/internal/fingerprint"
	"github.com/tablewake/tablewake/sinks/state"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	files := fingerprint.OpenDir(dir)
	if _, ok, err := files.Fingerprint(t.Context(), "shop", "orders"); ok || err != nil {
		t.Fatalf("a new folder has a fingerprint: %v (%v)", ok, err)
	}
	// A name with the separator in it is another sink's.
	for _, p := range []state.Fingerprint{
		{Pipeline: "shop", Sink: "orders", Generation: 1, Settings: map[string]string{"view.table": "a"}},
		{Pipeline: "shop@orders", Sink: "x/..", Generation: 1},
		{Pipeline: "shop", Sink: "orders@x/..", Generation: 2},
		{Pipeline: "shop", Sink: "orders", Generation: 1, Settings: map[string]string{"view.table": "b"}},
	} {
		if err := files.SetFingerprint(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		got, ok, err := fingerprint.OpenDir(dir).Fingerprint(t.Context(), p.Pipeline, p.Sink)
		if err != nil || !ok || !reflect.DeepEqual(got, p) {
			t.Fatalf("read back %+v %v (%v), want %+v", got, ok, err, p)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, fingerprint.Folder))
	if err != nil || len(left) != 3 {
		t.Errorf("the folder holds %v (%v), want 3 files", left, err)
	}
}

// A reader of a fingerprint that several processes set reads one of theirs, whole.
func TestFiles_SeveralWriters(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			p := state.Fingerprint{Pipeline: "shop", Sink: "orders", Settings: map[string]string{"long": strings.Repeat("x", 1+i*5000)}}
			for range 30 {
				if err := fingerprint.OpenDir(dir).SetFingerprint(context.Background(), p); err != nil {
					t.Error(err)
				}
				got, ok, err := fingerprint.OpenDir(dir).Fingerprint(context.Background(), "shop", "orders")
				if n := len(got.Settings["long"]); err != nil || !ok || n%5000 != 1 {
					t.Errorf("read is %d long (%v)", n, err)
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(filepath.Join(dir, fingerprint.Folder)); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v)", left, err)
	}
}

func TestFiles_Damaged(t *testing.T) {
	dir := t.TempDir()
	files := fingerprint.OpenDir(dir)
	if err := files.SetFingerprint(t.Context(), state.Fingerprint{Pipeline: "shop", Sink: "orders"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fingerprint.Folder, "shop@orders.json")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := path + ", which has the settings of the output, is damaged: if the configuration is still that of the output, remove it"
	if _, _, err := files.Fingerprint(t.Context(), "shop", "orders"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a damaged file: %v", err)
	}
}
