package fingerprint_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/internal/fingerprint"
	"github.com/tablewake/tablewake/sinks/state"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	files := fingerprint.In(dir)
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
		got, ok, err := fingerprint.In(dir).Fingerprint(t.Context(), p.Pipeline, p.Sink)
		if err != nil || !ok || !reflect.DeepEqual(got, p) {
			t.Fatalf("read back %+v %v (%v), want %+v", got, ok, err, p)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, fingerprint.Folder))
	if err != nil || len(left) != 3 {
		t.Errorf("the folder holds %v (%v), want 3 files", left, err)
	}
}

func TestFiles_Damaged(t *testing.T) {
	dir := t.TempDir()
	files := fingerprint.In(dir)
	if err := files.SetFingerprint(t.Context(), state.Fingerprint{Pipeline: "shop", Sink: "orders"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fingerprint.Folder, "shop@orders.json")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := files.Fingerprint(t.Context(), "shop", "orders"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file is read: %v", err)
	}
}
