package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) {
	testmain.Run(m, testmain.Child(victimEnv, victim), testmain.Child(countingEnv, counting))
}

func TestConformance(t *testing.T) {
	viewtest.Run(t, viewtest.Suite{
		Checks:     2, // each check opens several files and syncs every write
		Only:       []string{"MovesByNumber", "MovesByNumberInPlace", "SharedDeadLetter", "SharedLast", "ElementsByPosition", "ElementsBySKUInParts"},
		CountItems: plain,
		Open: func(ctx context.Context, dir string) (viewtest.Store, error) {
			return sqlite.Open(ctx, filepath.Join(dir, "views.db"), sqlite.Options{})
		},
	})
}

// plain counts the entries in the table of rows.
func plain(ctx context.Context, s viewtest.Store, t view.Table) (n int, err error) {
	db := s.(*sqlite.Store)
	var known int
	err = db.Reader().QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = ?`, "_tw_"+t.Name).Scan(&known)
	if err != nil || known == 0 {
		return 0, err
	}
	err = db.Reader().QueryRowContext(ctx, `SELECT count(*) FROM "_tw_`+strings.ReplaceAll(t.Name, `"`, `""`)+`"`).Scan(&n)
	return n, err
}

func TestItems(t *testing.T) {
	viewtest.RunItems(t, openAs[viewtest.StateStore])
}

func TestItemRows(t *testing.T) {
	viewtest.RunItemRows(t, openAs[viewtest.StateStore])
}

func TestGroups(t *testing.T) {
	viewtest.RunGroups(t, openAs[viewtest.StateStore])
}

func TestOwners(t *testing.T) {
	viewtest.RunOwners(t, openAs[viewtest.StateStore])
}

func TestPurge(t *testing.T) {
	viewtest.RunPurge(t, openAs[viewtest.StateStore])
}

func TestListers(t *testing.T) {
	viewtest.RunListers(t, openAs[viewtest.StateStore], false)
}

// openAs opens a store as the type that a suite needs.
func openAs[T any](ctx context.Context, dir string) (s T, err error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "views.db"), sqlite.Options{})
	if err != nil {
		return s, err
	}
	return any(store).(T), nil
}

var target = view.Target{Table: view.Table{Name: "shop-views", PK: "PK", SK: "SK"}, View: "orders", Pipeline: "shop"}

func open(t testing.TB, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(sk string, sequence int, columns ...state.Column) view.Mutation {
	version, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", sequence))
	if err != nil {
		panic(err)
	}
	return view.Mutation{
		PK: item.StringValue("STATUS#paid"), SK: item.StringValue(sk), Version: version, Source: item.Key(sk), Attributes: columns,
	}
}

func column(t testing.TB, name, json string) state.Column {
	t.Helper()
	v, err := item.ParseValue([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return state.Column{Name: name, Value: v}
}

func apply(t testing.TB, s *sqlite.Store, target view.Target, ms ...view.Mutation) {
	t.Helper()
	rs, err := s.Apply(t.Context(), target, ms)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// query runs SQL with a plain SQLite connection, and returns one line for each row.
func query(t *testing.T, path, q string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	out := []string{strings.Join(columns, "|")}
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = c.String
		}
		out = append(out, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

func TestPeopleReadTheSQLView(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	s := open(t, path, sqlite.Options{})
	gone := put("2", 1)
	gone.Tombstone = true
	number, binary := put("", 1), put("", 1)
	number.SK = column(t, "", `{"N":"-12345678901234567890.5"}`).Value
	binary.SK = column(t, "", `{"B":"AAH/"}`).Value
	apply(t, s, target,
		put("1", 1, column(t, "total", `{"N":"12345678901234567890.10"}`), column(t, "tags", `{"SS":["a","b"]}`), column(t, "who", `{"M":{"n":{"S":"é\""}}}`)),
		gone, number, binary)
	got := query(t, path, `SELECT * FROM "shop-views"`)
	const want = `PK|SK|attributes
STATUS#paid|1|{"total":12345678901234567890.1,"tags":["a","b"],"who":{"n":"é\""}}
STATUS#paid|-12345678901234567890.5|{}
STATUS#paid|AAH/|{}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestKeysHaveTheirNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	s := open(t, path, sqlite.Options{})
	odd := view.Target{Table: view.Table{Name: `it's "odd"`, PK: `a "b" 'c'`, SK: "first-name"}, View: "v", Pipeline: "p"}
	number := put("y", 1)
	number.PK = column(t, "", `{"N":"1.5"}`).Value
	apply(t, s, odd, put("x", 1), number)
	if got, want := query(t, path, `SELECT * FROM "it's ""odd"""`), "a \"b\" 'c'|first-name|attributes\nSTATUS#paid|x|{}\n1.5|y|{}"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTables(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "new", "views.db"), sqlite.Options{})
	one := view.Table{Name: "one", PK: "id"}
	for range 2 {
		if err := s.Create(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, s, target, put("1", 1))
	got, err := s.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []view.Table{one, target.Table}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for row, err := range s.Rows(t.Context(), one, view.Query{}) {
		t.Errorf("an empty table has the row %v, %v", row, err)
	}
	for wrong, table := range map[string]view.Table{
		`has the key (id)`: {Name: "one", PK: "PK", SK: "SK"},
		`only in case`:     {Name: "ONE", PK: "id"},
		`are taken`:        {Name: "_tw_tables", PK: "id"},
		`beginning with`:   {Name: "_TWS_groups", PK: "id"},
		`the name tables`:  {Name: "Tables", PK: "id"},
		`cannot have`:      {Name: "two"},
	} {
		if err := s.Create(t.Context(), table); err == nil || !strings.Contains(err.Error(), wrong) || !pipeline.IsFatal(err) {
			t.Errorf("Create(%+v): got %v, want a fatal error that says %q", table, err, wrong)
		}
	}
	for _, err := range s.Rows(t.Context(), view.Table{Name: "three"}, view.Query{}) {
		if !errors.Is(err, view.ErrNoTable) || !strings.Contains(err.Error(), `"three"`) {
			t.Errorf("reading a table that is not there: got %v", err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a b?c#d%20.db")
	if s, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true}); err == nil {
		t.Errorf("opened a file that is not there: %v", s.Close())
	}
	w := open(t, path, sqlite.Options{})
	apply(t, w, target, put("1", 1))
	r := open(t, path, sqlite.Options{ReadOnly: true})
	n := 0
	for _, err := range r.Rows(t.Context(), target.Table, view.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	if _, err := r.Apply(t.Context(), target, []view.Mutation{put("2", 1)}); !pipeline.IsFatal(err) {
		t.Errorf("writing: got %v, want a fatal error", err)
	}
	other := filepath.Join(dir, "other.db")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlite.Open(t.Context(), other, sqlite.Options{ReadOnly: true}); err == nil {
		t.Errorf("opened an empty file to read views: %v", s.Close())
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(notes, []byte(strings.Repeat("no database ", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlite.Open(t.Context(), notes, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "fill it again with") || !pipeline.IsFatal(err) {
		t.Errorf("a text file: got %v, %v", s, err)
	}
	newer := filepath.Join(dir, "newer.db")
	execute(t, newer, "PRAGMA user_version = 99")
	if s, err := sqlite.Open(t.Context(), newer, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "newer tablewake") {
		t.Errorf("a file of a newer format: got %v, %v", s, err)
	}
	if s, err := sqlite.Open(t.Context(), filepath.Join(notes, "views.db"), sqlite.Options{}); err == nil {
		t.Errorf("a file under a file: opened, %v", s.Close())
	}
	if s, err := sqlite.Open(t.Context(), "", sqlite.Options{}); err == nil {
		t.Errorf("no path: opened, %v", s.Close())
	}
}

func execute(t *testing.T, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// While another process writes, a call waits for BusyTimeout and then fails with a transient error.
func TestBusyIsTransient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	s := open(t, path, sqlite.Options{BusyTimeout: time.Millisecond})
	apply(t, s, target, put("1", 1))
	other := execute(t, path, "BEGIN IMMEDIATE")
	_, err := s.Apply(t.Context(), target, []view.Mutation{put("2", 1)})
	if _, again := pipeline.Retryable(err); !again || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v, want a transient error that names the other process", err)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	apply(t, s, target, put("2", 1))
}

func TestCancelledCallWritesNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "views.db"), sqlite.Options{})
	apply(t, s, target, put("1", 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Apply(ctx, target, []view.Mutation{put("2", 1)}); err == nil {
		t.Error("a cancelled call: no error")
	}
	n := 0
	for range s.Rows(t.Context(), target.Table, view.Query{}) {
		n++
	}
	if n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

func TestCloseTwice(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "views.db"), sqlite.Options{})
	apply(t, s, target, put("1", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), target, []view.Mutation{put("2", 1)}); !pipeline.IsFatal(err) {
		t.Errorf("Apply on a closed store: got %v, want a fatal error", err)
	}
}
