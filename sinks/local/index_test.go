package local_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
)

// If another sink or another pipeline already writes to an index, a sink with the same index name is refused.
func TestIndexOfAnotherSink(t *testing.T) {
	dir := t.TempDir()
	run(t, dir) // the sink products writes to the index products
	for name, file := range map[string]string{
		"another sink":     "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  others: {search: {index: products}}\n",
		"another pipeline": "version: 1\nname: others\nsource: {table: shop}\nsinks:\n  products: {search: {index: products}}\n",
	} {
		err := assemble(t, dir, file)
		if _, foreign := errors.AsType[*search.ForeignIndexError](err); !foreign || !strings.Contains(err.Error(), `belongs to the sink "products" of pipeline "shop": give one of the two another index name`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A folder in the format of an older tablewake is refused, and the error has the command that fills the folder again.
func TestFolderOfAnOlderFormat(t *testing.T) {
	dir := t.TempDir()
	run(t, dir)
	db, err := sql.Open("sqlite", local.Dir(dir).Views())
	if err == nil {
		_, err = db.Exec("PRAGMA user_version = 5")
		err = errors.Join(err, db.Close(), os.MkdirAll(filepath.Join(dir, "search", "products", "store"), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := assemble(t, dir, everySink); err == nil || !strings.Contains(err.Error(), "fill it again with `tablewake replay --local DIR --fresh`") {
		t.Errorf("a folder of format 5: %v", err)
	}
}
