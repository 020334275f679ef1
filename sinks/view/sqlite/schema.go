package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// prefix is how the name of the table that holds the rows of a view table begins.
// No table of state may begin so: a view table may have any name.
const prefix = "_tw_"

// engine begins the names that SQLite has for itself.
const engine = "sqlite_"

// catalog is, behind the prefix, the table of view tables.
const catalog = "tables"

// Rows are stored by key, so that reading without an order brings them in it. The
// key columns hold what key.go makes of the key's values.
const (
	createRows = `CREATE TABLE IF NOT EXISTS %s (
	pk ANY NOT NULL,
	sk ANY NOT NULL,
	version TEXT NOT NULL,
	void INTEGER NOT NULL, -- of a tombstone: no row could be made of that change
	pipeline TEXT NOT NULL,
	view TEXT NOT NULL,
	birth TEXT NOT NULL,
	source TEXT NOT NULL,
	attributes TEXT, -- plain JSON; NULL for a tombstone
	item TEXT,       -- DynamoDB JSON of the whole row; NULL for a tombstone
	PRIMARY KEY (pk, sk)
) STRICT, WITHOUT ROWID`

	createView = `CREATE VIEW IF NOT EXISTS %s AS SELECT %s attributes FROM %s WHERE item IS NOT NULL`

	// ours lets a row be written over that is of the same view, pipeline and birth.
	ours = "old.view = excluded.view AND old.pipeline = excluded.pipeline AND old.birth = excluded.birth"

	writeRow = `INSERT INTO %s AS old (pk, sk, version, void, pipeline, view, birth, source, attributes, item) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (pk, sk) DO UPDATE SET version = excluded.version, void = excluded.void, source = excluded.source,
	attributes = excluded.attributes, item = excluded.item
WHERE ` + ours

	// Of a row that guards itself a lower version alone is written over, and of the same
	// version what is void. Where rows are guarded by item, and of groups, what is remembered
	// of items decides.
	onlyOver = " AND (excluded.version > old.version OR excluded.version = old.version AND old.void > excluded.void)"

	// Where tombstones are apart: a row that is there, and one that goes.
	stayRow  = `UPDATE %s SET version = ?, source = ?, attributes = ?, item = ? WHERE pk = ? AND sk = ? AND view = ? AND pipeline = ? AND birth = ? AND version < ?`
	leaveRow = deleteRow + ` AND version < ?`

	deleteRow = `DELETE FROM %s WHERE pk = ? AND sk = ? AND view = ? AND pipeline = ? AND birth = ?`

	readGuard = `SELECT version, view, pipeline, birth FROM %s WHERE pk = ? AND sk = ?`
)

// table is a view table with the texts of its statements, by which they are prepared once.
type table struct {
	view.Table
	write, replace, remove, guard, stay, leave string
}

func tableOf(t view.Table) *table {
	rows := quote(prefix + t.Name)
	return &table{
		Table:   t,
		write:   fmt.Sprintf(writeRow+onlyOver, rows),
		replace: fmt.Sprintf(writeRow, rows),
		remove:  fmt.Sprintf(deleteRow, rows),
		guard:   fmt.Sprintf(readGuard, rows),
		stay:    fmt.Sprintf(stayRow, rows),
		leave:   fmt.Sprintf(leaveRow, rows),
	}
}

// Create makes a view table ready: [Store.Apply] does so too, but a table that
// nothing was written to can be read only when it was created. The error says what
// an existing table of that name is made of instead.
func (s *Store) Create(ctx context.Context, t view.Table) error {
	return s.Write(ctx, func(w *sqlite.Writer) error {
		_, err := s.table(ctx, w, t)
		return err
	})
}

// table is the table by its name, created where it is missing.
func (s *Store) table(ctx context.Context, w *sqlite.Writer, t view.Table) (*table, error) {
	if have, ok := s.tables[t.Name]; ok {
		return have, have.check(t)
	}
	if err := create(context.WithoutCancel(ctx), w, t); err != nil {
		return nil, err
	}
	s.tables[t.Name] = tableOf(t)
	return s.tables[t.Name], nil
}

func (t *table) check(want view.Table) error {
	if t.Table == want {
		return nil
	}
	return pipeline.Fatal(fmt.Errorf("sqlite: the view table %q has the key %s and cannot have the key %s: give all views of a table the same key attributes",
		t.Name, keyNames(t.Table), keyNames(want)))
}

func keyNames(t view.Table) string {
	if t.SK == "" {
		return fmt.Sprintf("(%s)", t.PK)
	}
	return fmt.Sprintf("(%s, %s)", t.PK, t.SK)
}

func create(ctx context.Context, w *sqlite.Writer, t view.Table) error {
	if name := strings.ToLower(t.Name); name == "" || t.PK == "" || name == catalog ||
		strings.HasPrefix(name, prefix) || strings.HasPrefix(name, sqlite.Prefix) || strings.HasPrefix(name, engine) || strings.ContainsRune(t.Name+t.PK+t.SK, 0) {
		return pipeline.Fatal(errs.Errorf("sqlite: a view table cannot have the name %q and the key %s: a name and a partition key are needed, and the name %s and names beginning with %s, %s and %s are taken",
			t.Name, keyNames(t), catalog, prefix, sqlite.Prefix, engine))
	}
	return w.Transact(ctx, func() error {
		have := table{}
		// SQLite tells names apart without regard to case, DynamoDB with it.
		found, err := w.QueryRow(ctx, `SELECT name, pk, sk FROM "_tw_tables" WHERE name = ? COLLATE NOCASE`, []any{t.Name}, &have.Name, &have.PK, &have.SK)
		switch {
		case err != nil:
			return err
		case found && have.Name != t.Name:
			return pipeline.Fatal(errs.Errorf("sqlite: the view tables %q and %q differ in case alone: rename one", have.Name, t.Name))
		case found:
			return have.check(t)
		}
		rows := quote(prefix + t.Name)
		columns := shown("pk", t.PK) + ", "
		if t.SK != "" {
			columns += shown("sk", t.SK) + ", "
		}
		for _, q := range []string{
			fmt.Sprintf(createRows, rows),
			fmt.Sprintf(createView, quote(t.Name), columns, rows),
		} {
			if err := w.ExecDDL(ctx, q); err != nil {
				return err
			}
		}
		return w.Exec(ctx, `INSERT INTO "_tw_tables" (name, pk, sk) VALUES (?, ?, ?)`, t.Name, t.PK, t.SK)
	})
}

// shown is a key column as people see it: a string as it is, a number or a
// binary, which are stored in a form that sorts, as the row's JSON shows them.
func shown(column, attribute string) string {
	return fmt.Sprintf(`CASE typeof(%[1]s) WHEN 'text' THEN %[1]s ELSE
	(SELECT coalesce(value ->> 'N', value ->> 'B') FROM json_each(item) WHERE key = %[2]s) END AS %[3]s`,
		column, literal(attribute), quote(attribute))
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }
