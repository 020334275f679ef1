package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/view"
)

// format is the version of what this package writes, in the file's user_version.
const format = 1

// prefix is how the names of this package's own tables begin.
const prefix = "_tw_"

// Rows are stored by key, so that reading without an order brings them in it. The
// key columns hold what key.go makes of the key's values.
const (
	createCatalog = `CREATE TABLE IF NOT EXISTS "_tw_tables" (name TEXT PRIMARY KEY, pk TEXT NOT NULL, sk TEXT NOT NULL) STRICT`

	createRows = `CREATE TABLE IF NOT EXISTS %s (
	pk ANY NOT NULL,
	sk ANY NOT NULL,
	version TEXT NOT NULL,
	pipeline TEXT NOT NULL,
	view TEXT NOT NULL,
	source TEXT NOT NULL,
	attributes TEXT, -- plain JSON; NULL for a tombstone
	item TEXT,       -- DynamoDB JSON of the whole row; NULL for a tombstone
	PRIMARY KEY (pk, sk)
) STRICT, WITHOUT ROWID`

	createView = `CREATE VIEW IF NOT EXISTS %s AS SELECT %s attributes FROM %s WHERE item IS NOT NULL`

	writeRow = `INSERT INTO %s AS old (pk, sk, version, pipeline, view, source, attributes, item) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (pk, sk) DO UPDATE SET version = excluded.version, pipeline = excluded.pipeline, source = excluded.source,
	attributes = excluded.attributes, item = excluded.item
WHERE excluded.version > old.version AND excluded.view = old.view`

	readGuard = `SELECT version, view FROM %s WHERE pk = ? AND sk = ?`
)

// table is a view table with its statements, prepared on the writing connection.
type table struct {
	view.Table
	write *sql.Stmt
	guard *sql.Stmt
}

func (t *table) close() error { return errors.Join(t.write.Close(), t.guard.Close()) }

// prepareFile makes the catalog of an empty file.
func (s *Store) prepareFile(ctx context.Context) error {
	found, err := s.format(ctx, s.conn)
	if err != nil || found == format {
		return err
	}
	return s.transact(ctx, func() error {
		for _, q := range []string{createCatalog, fmt.Sprintf("PRAGMA user_version = %d", format)} {
			if _, err := s.conn.ExecContext(ctx, q); err != nil {
				return s.failed("prepare", err)
			}
		}
		return nil
	})
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// format is that of the file, 0 for one that is empty or not this package's.
func (s *Store) format(ctx context.Context, q queryer) (int, error) {
	var found int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return 0, s.failed("open", err)
	}
	if found > format {
		return 0, pipeline.Fatal(fmt.Errorf("sqlite: %s has the format %d and this program knows %d: use a newer tablewake, or another file", s.path, found, format))
	}
	return found, nil
}

// Create makes a view table ready: [Store.Apply] does so too, but a table that
// nothing was written to can be read only when it was created. The error says what
// an existing table of that name is made of instead.
func (s *Store) Create(ctx context.Context, t view.Table) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.table(ctx, t)
	return err
}

// table is the prepared table, created where it is missing. The caller has the turn.
func (s *Store) table(ctx context.Context, t view.Table) (*table, error) {
	if have, ok := s.tables[t.Name]; ok {
		return have, have.check(t)
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.create(ctx, t); err != nil {
		return nil, err
	}
	rows := quote(prefix + t.Name)
	have := &table{Table: t}
	var err error
	if have.write, err = s.conn.PrepareContext(ctx, fmt.Sprintf(writeRow, rows)); err != nil {
		return nil, s.failed("prepare", err)
	}
	if have.guard, err = s.conn.PrepareContext(ctx, fmt.Sprintf(readGuard, rows)); err != nil {
		return nil, errors.Join(s.failed("prepare", err), have.write.Close())
	}
	s.tables[t.Name] = have
	return have, nil
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

func (s *Store) create(ctx context.Context, t view.Table) error {
	if t.Name == "" || t.PK == "" || strings.HasPrefix(strings.ToLower(t.Name), prefix) || strings.ContainsRune(t.Name+t.PK+t.SK, 0) {
		return pipeline.Fatal(fmt.Errorf("sqlite: a view table cannot have the name %q and the key %s: a name and a partition key are needed, and names beginning with %s are taken",
			t.Name, keyNames(t), prefix))
	}
	return s.transact(ctx, func() error {
		have := table{}
		// SQLite tells names apart without regard to case, DynamoDB with it.
		err := s.conn.QueryRowContext(ctx, `SELECT name, pk, sk FROM "_tw_tables" WHERE name = ? COLLATE NOCASE`, t.Name).Scan(&have.Name, &have.PK, &have.SK)
		switch {
		case err == nil && have.Name != t.Name:
			return pipeline.Fatal(fmt.Errorf("sqlite: the view tables %q and %q differ in case alone: rename one", have.Name, t.Name))
		case err == nil:
			return have.check(t)
		case !errors.Is(err, sql.ErrNoRows):
			return s.failed("create", err)
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
			if _, err := s.conn.ExecContext(ctx, q); err != nil {
				return s.failed("create", err)
			}
		}
		_, err = s.conn.ExecContext(ctx, `INSERT INTO "_tw_tables" (name, pk, sk) VALUES (?, ?, ?)`, t.Name, t.PK, t.SK)
		return s.failed("create", err)
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
