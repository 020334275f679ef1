package audit

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// A folder may hold entries under keys that cannot be decoded. The other items are read.
func TestLatest_KeysOfNoItem(t *testing.T) {
	none := func(func(*record.Page) error) error { return nil }
	l, err := openLatest(t.Context(), filepath.Join(t.TempDir(), "items.db"), "records", record.DecoderOptions{Table: "shop"}, none)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	items, err := l.Read(t.Context(), []item.Key{"%zz", "P1"})
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if err := items[0].Err; err == nil || !strings.Contains(err.Error(), "under a key that no table has") {
		t.Errorf("a key of no item: %v", err)
	}
	if items[1].Err != nil || !items[1].Change.Removed() {
		t.Errorf("an item that is not there: %+v", items[1])
	}
}
