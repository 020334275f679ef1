package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	statesqlite "github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// layout1 has the statements that make a file of layout 1 with a row and a tombstone. That layout had no state.
var layout1 = []string{
	`PRAGMA journal_mode = wal`,
	`CREATE TABLE "_tw_tables" (name TEXT PRIMARY KEY, pk TEXT NOT NULL, sk TEXT NOT NULL) STRICT`,
	`CREATE TABLE "_tw_shop-views" (
	pk ANY NOT NULL,
	sk ANY NOT NULL,
	version TEXT NOT NULL,
	pipeline TEXT NOT NULL,
	view TEXT NOT NULL,
	source TEXT NOT NULL,
	attributes TEXT,
	item TEXT,
	PRIMARY KEY (pk, sk)
) STRICT, WITHOUT ROWID`,
	`CREATE VIEW "shop-views" AS SELECT pk AS "PK", sk AS "SK", attributes FROM "_tw_shop-views" WHERE item IS NOT NULL`,
	`INSERT INTO "_tw_tables" VALUES ('shop-views', 'PK', 'SK')`,
	fmt.Sprintf(`INSERT INTO "_tw_shop-views" VALUES
	('STATUS#paid', 'old', '1767323045%040d', 'shop', 'orders', 'old', '{"n":1}', '{"PK":{"S":"STATUS#paid"},"SK":{"S":"old"},"n":{"N":"1"}}'),
	('STATUS#paid', 'gone', '1767323045%040d', 'shop', 'orders', 'gone', NULL, NULL)`, 5, 5),
	`PRAGMA user_version = 1`,
}

func oldFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "views.db")
	if err := execute(t, path, layout1...).Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Open refuses a file of an older layout, and the error has the command that makes a new file. The file is not changed.
func TestFileOfLayout1(t *testing.T) {
	path := oldFile(t)
	for _, o := range []sqlite.Options{{}, {ReadOnly: true}} {
		if s, err := sqlite.Open(t.Context(), path, o); err == nil || !strings.Contains(err.Error(), "tablewake replay --local DIR --fresh") {
			t.Fatalf("opened: %v, %v", s, err)
		}
	}
	if got, want := query(t, path, `SELECT count(*) AS n FROM sqlite_schema WHERE name = '_tws_guards'`), "n\n0"; got != want {
		t.Errorf("half of the new layout is there: %s", got)
	}
	if got, want := query(t, path, "PRAGMA user_version"), "user_version\n1"; got != want {
		t.Errorf("the layout is %s, want %s", got, want)
	}
}

// A file that only a state store has opened has no view tables.
func TestFileOfTheState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	db, err := statesqlite.Open(t.Context(), path, statesqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{ReadOnly: true})
	if tables, err := s.Tables(t.Context()); err != nil || len(tables) > 0 {
		t.Errorf("the view tables are %v, %v", tables, err)
	}
	for row, err := range s.Rows(t.Context(), view.Table{Name: "shop-views"}, view.Query{}) {
		if !errors.Is(err, view.ErrNoTable) {
			t.Errorf("read %v, %v", row, err)
		}
	}
}

// A store reports which changes it has forgotten. A file that was never purged has forgotten nothing, so it refuses no
// change.
func TestMemory(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "views.db"), sqlite.Options{})
	r, err := state.LoadRetention(t.Context(), s, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	long := r.Born.AddDate(1, 0, 0)
	if err := r.Check(r.Born.AddDate(-9, 0, 0), long); err != nil {
		t.Errorf("a store that was never purged refuses: %v", err)
	}
	if _, err := s.Purge(t.Context(), r.Born); err != nil {
		t.Fatal(err)
	}
	if r, err = state.LoadRetention(t.Context(), s, 0, false); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(r.Born.AddDate(-9, 0, 0), long); err == nil {
		t.Error("a store that was purged refuses nothing")
	}
}
