package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// layout1 is a file as it was written before there was state in it: a row, and a
// tombstone.
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

// A file of the layout before goes on where it was, and can hold state.
func TestFileOfLayout1(t *testing.T) {
	path := oldFile(t)
	s := open(t, path, sqlite.Options{})
	newer := put("old", 6)
	apply(t, s, target, newer, put("gone", 4), put("new", 1))
	rs, err := s.Apply(t.Context(), target, []view.Mutation{put("gone", 5)})
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].Superseded || rs[0].Err != nil { // the tombstone is of this version
		t.Errorf("the tombstone's own version: %+v", rs[0])
	}
	if got, want := query(t, path, `SELECT SK, attributes FROM "shop-views"`), "SK|attributes\nnew|{}\nold|{}"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := s.Guards(t.Context(), target, []pipeline.Key{"a"}); err != nil {
		t.Error(err)
	}
	if err := s.State("shop").Hold(t.Context(), "crm", []pipeline.Key{"a"}); err != nil {
		t.Error(err)
	}
	if m, err := s.Memory(t.Context()); err != nil || m.Born.IsZero() || m.Forgets {
		t.Errorf("the memory is %+v, %v", m, err)
	}
	if got, want := query(t, path, "PRAGMA user_version"), "user_version\n3"; got != want {
		t.Errorf("the layout is %s, want %s", got, want)
	}
	open(t, path, sqlite.Options{}) // and again
}

// Opened to be read it stays as it is: there are rows, and no state.
func TestFileOfLayout1IsRead(t *testing.T) {
	path := oldFile(t)
	s := open(t, path, sqlite.Options{ReadOnly: true})
	n := 0
	for row, err := range s.Rows(t.Context(), target.Table, view.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Source != "old" {
			t.Errorf("the row %+v", row)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	if f, ok, err := s.Fingerprint(t.Context(), "shop", "orders"); ok || err != nil {
		t.Errorf("a fingerprint %v, %v", f, err)
	}
	for m, err := range s.State("shop").Marks(t.Context(), "") {
		t.Errorf("a mark %v, %v", m, err)
	}
	for g, err := range s.State("shop").Gaps(t.Context()) {
		t.Errorf("a gap %v, %v", g, err)
	}
	if held, err := s.State("shop").Held(t.Context(), "crm", []pipeline.Key{"a"}); err != nil || held[0] {
		t.Errorf("held %v, %v", held, err)
	}
	if got, want := query(t, path, "PRAGMA user_version"), "user_version\n1"; got != want {
		t.Errorf("the layout is %s, want %s", got, want)
	}
}

// A file that cannot be brought up to date stays as it was, whole.
func TestUpgradeIsWhole(t *testing.T) {
	path := oldFile(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE "_tws_marks" (x)`); err != nil { // of no layout
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "_tws_marks") {
		t.Fatalf("opened: %v, %v", s, err)
	}
	if got, want := query(t, path, `SELECT count(*) AS n FROM sqlite_schema WHERE name = '_tws_guards'`), "n\n0"; got != want {
		t.Errorf("half of the new layout is there: %s", got)
	}
	if got, want := query(t, path, "PRAGMA user_version"), "user_version\n1"; got != want {
		t.Errorf("the layout is %s, want %s", got, want)
	}
}

// What an embedded store forgot, it says: a file that was never purged refuses nothing.
func TestMemory(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "views.db"), sqlite.Options{})
	r, err := state.RetentionOf(t.Context(), s, 0, false)
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
	if r, err = state.RetentionOf(t.Context(), s, 0, false); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(r.Born.AddDate(-9, 0, 0), long); err == nil {
		t.Error("a store that was purged refuses nothing")
	}
}
