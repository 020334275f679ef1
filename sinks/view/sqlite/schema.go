package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// tablePrefix begins the name of each table that has the rows of a view table. The tables of the state have another
// prefix. So a view table may be called guards, for example.
const tablePrefix = "_tw_"

// enginePrefix is the prefix of names that SQLite reserves.
const enginePrefix = "sqlite_"

// catalog is the name of the table that lists the view tables with the names of their keys, without tablePrefix.
const catalog = "tables"

// The statements. Rows are stored in the order of their keys, so a read returns them in this order. key_column.go makes
// the values of the key columns.
const (
	createCatalog = `CREATE TABLE IF NOT EXISTS "_tw_tables" (name TEXT PRIMARY KEY, pk TEXT NOT NULL, sk TEXT NOT NULL) STRICT`

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

	// ownerMatches is the condition that the stored row has the same view, pipeline and birth.
	ownerMatches = "old.view = excluded.view AND old.pipeline = excluded.pipeline AND old.birth = excluded.birth"

	writeRow = `INSERT INTO %s AS old (pk, sk, version, void, pipeline, view, birth, source, attributes, item) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (pk, sk) DO UPDATE SET version = excluded.version, void = excluded.void, source = excluded.source,
	attributes = excluded.attributes, item = excluded.item
WHERE ` + ownerMatches

	// onlyOver is an additional condition of writeRow for rows that guard themselves. The write then replaces only a
	// lower version, or a void tombstone of the same version. A void tombstone belongs to a change that could not be
	// mapped to a row. Other rows do not need onlyOver, because guards and contributions protect them.
	onlyOver = " AND (excluded.version > old.version OR excluded.version = old.version AND old.void > excluded.void)"

	// updateRow and deleteOlderRow are for rows with tombstones apart. They change the stored row only if it is older.
	// updateRow has the parameters of writeRow.
	updateRow = `UPDATE %s SET version = ?3, void = ?4, source = ?8, attributes = ?9, item = ?10
WHERE pk = ?1 AND sk = ?2 AND pipeline = ?5 AND view = ?6 AND birth = ?7 AND version < ?3`
	deleteOlderRow = deleteRow + ` AND version < ?`

	deleteRow = `DELETE FROM %s WHERE pk = ? AND sk = ? AND view = ? AND pipeline = ? AND birth = ?`

	readOwner = `SELECT version, void, source, item IS NOT NULL, view, pipeline, birth FROM %s WHERE pk = ? AND sk = ?`

	readStored = `SELECT ` + allColumns + ` FROM %s WHERE pk = ? AND sk = ?`
)

// table is a view table with its statements. A Writer prepares each statement once.
type table struct {
	view.Table
	putIfNewer, put, delete, owner, update, deleteOlder, stored string
}

func newTable(t view.Table) *table {
	rows := quote(tablePrefix + t.Name)
	return &table{
		Table:       t,
		putIfNewer:  fmt.Sprintf(writeRow+onlyOver, rows),
		put:         fmt.Sprintf(writeRow, rows),
		delete:      fmt.Sprintf(deleteRow, rows),
		owner:       fmt.Sprintf(readOwner, rows),
		update:      fmt.Sprintf(updateRow, rows),
		deleteOlder: fmt.Sprintf(deleteOlderRow, rows),
		stored:      fmt.Sprintf(readStored, rows),
	}
}

// Create creates a view table if there is none. [Store.Apply] also creates the table, so Create is only needed for
// reads before the first write. If the table exists with another key, the error names that key.
func (s *Store) Create(ctx context.Context, t view.Table) error {
	return s.Write(ctx, func(w *sqlite.Writer) error {
		_, err := s.ensureTable(w, t)
		return err
	})
}

// Check is [Store.Create] for a caller that changes nothing: it returns the same errors, and creates no table.
func (s *Store) Check(ctx context.Context, t view.Table) error {
	if err := checkNames(t); err != nil {
		return err
	}
	return s.Write(ctx, func(w *sqlite.Writer) error {
		_, err := hasTable(w, t)
		return err
	})
}

// ensureTable returns the table with the name of t. It creates the table if it is missing.
func (s *Store) ensureTable(w *sqlite.Writer, t view.Table) (*table, error) {
	if existing, ok := s.tables[t.Name]; ok {
		return existing, existing.check(t)
	}
	if err := create(w, t); err != nil {
		return nil, err
	}
	s.tables[t.Name] = newTable(t)
	return s.tables[t.Name], nil
}

// check returns a fatal error if the table has another key than requested.
func (t *table) check(requested view.Table) error {
	if t.Table == requested {
		return nil
	}
	return pipeline.Fatal(
		fmt.Errorf(
			"sqlite: the view table %q has the key %s and cannot have the key %s: give all views of a table the same key attributes",
			t.Name, keyNames(t.Table), keyNames(requested)))
}

func keyNames(t view.Table) string {
	if t.SK == "" {
		return fmt.Sprintf("(%s)", t.PK)
	}
	return fmt.Sprintf("(%s, %s)", t.PK, t.SK)
}

// checkNames returns a fatal error if the names of a view table are not allowed.
func checkNames(t view.Table) error {
	isIncomplete := t.Name == "" || t.PK == ""
	hasZeroByte := strings.ContainsRune(t.Name+t.PK+t.SK, 0)
	if isIncomplete || hasZeroByte || isTaken(t.Name) {
		return pipeline.Fatal(
			errs.Errorf(
				"sqlite: a view table cannot have the name %q and the key %s: a name and a partition key are needed, and the name %s and names beginning with %s, %s and %s are taken",
				t.Name, keyNames(t), catalog, tablePrefix, sqlite.Prefix, enginePrefix))
	}
	return nil
}

// hasTable reports whether a view table exists. It returns a fatal error if the table exists with another key, or if
// its name differs from another table's only in case.
func hasTable(w *sqlite.Writer, t view.Table) (found bool, err error) {
	existing := table{}
	// Names in SQLite are not case-sensitive, but names in DynamoDB are.
	found, err = w.QueryRow(`SELECT name, pk, sk FROM "_tw_tables" WHERE name = ? COLLATE NOCASE`, []any{t.Name},
		&existing.Name, &existing.PK, &existing.SK)
	switch {
	case err != nil:
		return false, err
	case found && existing.Name != t.Name:
		return false, pipeline.Fatal(errs.Errorf("sqlite: the view tables %q and %q differ only in case: rename one",
			existing.Name, t.Name))
	case found:
		return true, existing.check(t)
	}
	return false, nil
}

// create creates the tables of a view table, and the SQL view, unless they exist. It returns a fatal error if they
// exist with another key, or if the names are not allowed.
func create(w *sqlite.Writer, t view.Table) error {
	if err := checkNames(t); err != nil { // before another process has to wait for the lock
		return err
	}
	return w.Transact(func() error {
		if found, err := hasTable(w, t); found || err != nil {
			return err
		}
		rows := quote(tablePrefix + t.Name)
		keyColumns := displayColumn("pk", t.PK) + ", "
		if t.SK != "" {
			keyColumns += displayColumn("sk", t.SK) + ", "
		}
		if err := w.ExecDDL(fmt.Sprintf(createRows, rows)); err != nil {
			return err
		}
		if err := w.ExecDDL(fmt.Sprintf(createView, quote(t.Name), keyColumns, rows)); err != nil {
			return err
		}
		return w.Exec(`INSERT INTO "_tw_tables" (name, pk, sk) VALUES (?, ?, ?)`, t.Name, t.PK, t.SK)
	})
}

// isTaken reports whether a view table cannot have the name, because other tables of the file have it or may get it.
func isTaken(name string) bool {
	name = strings.ToLower(name)
	return name == catalog || strings.HasPrefix(name, tablePrefix) || strings.HasPrefix(name, sqlite.Prefix) ||
		strings.HasPrefix(name, enginePrefix)
}

// displayColumn returns the SQL expression that shows a key column to people. A string is shown as it is stored.
// Numbers and binaries are stored in a sortable form, so their values are taken from the row's JSON.
func displayColumn(column, attribute string) string {
	return fmt.Sprintf(`CASE typeof(%[1]s) WHEN 'text' THEN %[1]s ELSE
	(SELECT coalesce(value ->> 'N', value ->> 'B') FROM json_each(item) WHERE key = %[2]s) END AS %[3]s`,
		column, sqlLiteral(attribute), quote(attribute))
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func sqlLiteral(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }
