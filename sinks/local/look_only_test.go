package local_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
)

// folderContents returns the files of a folder with their contents, and the names of the tables in its views.db.
func folderContents(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(filepath.Base(path), "views.db-") { // SQLite makes and removes them
			return err
		}
		if entry.IsDir() {
			names = append(names, path)
			return nil
		}
		content, err := os.ReadFile(path)
		names = append(names, fmt.Sprintf("%s %x", path, sha256.Sum256(content)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", local.Dir(dir).Views())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_schema ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// lookOnly compares the outputs of a file's sinks in a folder whose stores are only looked at.
func lookOnly(t *testing.T, dir, file string) ([]sinks.OutputChange, error) {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	stores, err := local.Open(dir, local.LookOnly())
	if err != nil {
		t.Fatal(err)
	}
	changes, err := sinks.CompareOutputs(t.Context(), cfg, stores)
	return changes, errors.Join(err, stores.Close())
}

// Stores that are only looked at create nothing for a sink that never ran. What a start would refuse is refused.
func TestLookOnly(t *testing.T) {
	const first = `version: 1
name: shop
source: {table: shop}
sinks:
  orders: {view: {table: rows, key: {PK: 'A#{@key}'}}}
`
	const added = `
  others: {view: {table: more, key: {PK: 'B#{@key}'}}}
  sums: {aggregate: {table: sums, group: {PK: 'S'}, values: {n: count}, on_ttl_delete: retract}}
  docs: {search: {index: docs}}
  log: {archive: {bucket: log}}
  told: {notify: {events: [paid], queue: told}}
detect: {paid: {attribute: Status, to: paid}}
`
	dir := t.TempDir()
	if err := assemble(t, dir, first); err != nil {
		t.Fatal(err)
	}
	before := folderContents(t, dir)
	changes, err := lookOnly(t, dir, first+added)
	if err != nil || len(changes) != 6 {
		t.Errorf("%+v, %v", changes, err)
	}
	for _, c := range changes[1:] {
		if c.Kind != sinks.Added {
			t.Errorf("%s is %s", c.Sink, c.Kind)
		}
	}
	if after := folderContents(t, dir); !slices.Equal(after, before) {
		t.Errorf("the folder has\n%q\nand had\n%q", after, before)
	}

	for table, want := range map[string]string{"rows": "cannot have the key (PK, SK)", "ROWS": "differ only in case"} {
		_, err := lookOnly(t, dir, "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  others: {view: {table: "+table+", key: {PK: 'B#{@key}', SK: '-'}}}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a table %s: %v", table, err)
		}
	}
	filled := t.TempDir()
	run(t, filled) // the sink products writes to the index products
	killRenewal(t, local.Dir(filled).Witness())
	before = folderContents(t, filled)
	_, err = lookOnly(t, filled, "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  mine: {search: {index: docs}}\n  others: {search: {index: products}}\n")
	if _, foreign := errors.AsType[*search.ForeignIndexError](err); !foreign {
		t.Errorf("an index of another sink: %v", err)
	}
	if after := folderContents(t, filled); !slices.Equal(after, before) {
		t.Errorf("the folder has\n%q\nand had\n%q", after, before)
	}
}

// killRenewal makes a witness as a process leaves it that was killed while it renewed the token.
func killRenewal(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	killed := strings.Replace(string(content), `"],`, `","newer"],`, 1)
	if err := os.WriteFile(path, []byte(killed), 0o600); err != nil || killed == string(content) {
		t.Fatalf("%s: %v", content, err)
	}
}

// If a store cannot be opened or checked, the interface is nil.
func TestNoTypedNil(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(`version: 1
name: shop
source: {table: shop}
sinks:
  orders: {view: {table: rows, key: {PK: 'A#{@key}'}}}
  sums: {aggregate: {table: sums, group: {PK: 'S'}, values: {n: count}, on_ttl_delete: retract}}
  docs: {search: {index: docs}}
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stores, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(local.Dir(dir).Views(), 0o700); err != nil {
		t.Fatal(err)
	}
	check := func() {
		orders, _ := cfg.Sink("orders")
		if store, err := stores.View(t.Context(), cfg, orders); err == nil || store != nil {
			t.Errorf("a view: %v, %v", store, err)
		}
		sums, _ := cfg.Sink("sums")
		if store, err := stores.Aggregate(t.Context(), cfg, sums); err == nil || store != nil {
			t.Errorf("an aggregate: %v, %v", store, err)
		}
		docs, _ := cfg.Sink("docs")
		if store, err := stores.Search(t.Context(), cfg, docs); err == nil || store != nil {
			t.Errorf("a search index: %v, %v", store, err)
		}
	}
	check()
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	check()
}
