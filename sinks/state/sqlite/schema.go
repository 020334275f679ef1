package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
)

// Format is the number of the file's layout, stored as user_version. It also changes if the stores of rows and
// documents change the layouts of their tables.
const Format = 9

// Prefix begins the name of each table of the state and of each table of a search index. Names of view tables begin
// differently.
const Prefix = "_tws_"

// layout creates the tables of this format in an empty file. Times are Unix nanoseconds.
var layout = []string{
	// When the file was created, and whether anything was ever purged. See [DB.StoreAge].
	`CREATE TABLE "_tws_memory" (born INTEGER NOT NULL, forgets INTEGER NOT NULL) STRICT`,
	`INSERT INTO "_tws_memory" (born, forgets) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000000, 0)`,

	// A target is a pipeline, table, view and birth. These texts are long and would be repeated in many rows, so rows
	// have the id of the target instead.
	`CREATE TABLE "_tws_targets" (
	id INTEGER PRIMARY KEY,
	pipeline TEXT NOT NULL,
	name TEXT NOT NULL, -- of the table
	view TEXT NOT NULL,
	birth TEXT NOT NULL,
	UNIQUE (pipeline, name, view, birth)
) STRICT`,

	// written is NULL while the guard has a row or the contribution has a share. Otherwise it is the time of the last
	// write of the record. A record with NULL is never purged.
	`CREATE TABLE "_tws_guards" (
	target INTEGER NOT NULL,
	item TEXT NOT NULL,
	version TEXT NOT NULL,
	void INTEGER NOT NULL, -- the change of this version could not become a row
	row TEXT NOT NULL,
	written INTEGER,
	PRIMARY KEY (target, item)
) STRICT, WITHOUT ROWID`,
	`CREATE TABLE "_tws_contributions" (
	target INTEGER NOT NULL,
	item TEXT NOT NULL,
	version TEXT NOT NULL,
	void INTEGER NOT NULL, -- the change of this version could not be counted
	shares BLOB NOT NULL, -- state.Contribution.AppendShares
	written INTEGER,
	PRIMARY KEY (target, item)
) STRICT, WITHOUT ROWID`,

	// Rows that several items may claim. _tws_seats has the owner of each claimed row (holder), and _tws_claims all
	// claims.
	`CREATE TABLE "_tws_seats" (
	target INTEGER NOT NULL,
	row TEXT NOT NULL,
	revision TEXT NOT NULL,
	holder TEXT NOT NULL, -- '' if no item holds the row
	PRIMARY KEY (target, row)
) STRICT, WITHOUT ROWID`,
	`CREATE TABLE "_tws_claims" (
	target INTEGER NOT NULL,
	row TEXT NOT NULL,
	item TEXT NOT NULL,
	version TEXT NOT NULL,
	time INTEGER NOT NULL,
	attributes TEXT NOT NULL, -- DynamoDB JSON
	PRIMARY KEY (target, row, item)
) STRICT, WITHOUT ROWID`,

	// The groups of aggregates: the number of their shares, and the totals of their values.
	`CREATE TABLE "_tws_groups" (
	id INTEGER PRIMARY KEY,
	target INTEGER NOT NULL,
	row TEXT NOT NULL,
	shares INTEGER NOT NULL,
	revision TEXT NOT NULL, -- a new one with each write
	version TEXT NOT NULL,
	totals TEXT NOT NULL, -- JSON
	UNIQUE (target, row)
) STRICT`,
	// The members of min, max and distinct, in the order of the values.
	`CREATE TABLE "_tws_members" (
	"group" INTEGER NOT NULL,
	name TEXT NOT NULL,
	value BLOB NOT NULL, -- state.SortableText
	id TEXT NOT NULL,
	PRIMARY KEY ("group", name, value, id)
) STRICT, WITHOUT ROWID`,

	`CREATE TABLE "_tws_marks" (
	pipeline TEXT NOT NULL,
	sink TEXT NOT NULL,
	item TEXT NOT NULL,
	letters INTEGER NOT NULL,
	since INTEGER NOT NULL,
	PRIMARY KEY (pipeline, sink, item)
) STRICT, WITHOUT ROWID`,
	`CREATE TABLE "_tws_gaps" (
	pipeline TEXT NOT NULL,
	stream TEXT NOT NULL,
	shard TEXT NOT NULL,
	after TEXT NOT NULL,
	before TEXT NOT NULL,
	"from" INTEGER,
	"to" INTEGER,
	found INTEGER,
	whole INTEGER NOT NULL DEFAULT 0,
	unknown INTEGER NOT NULL DEFAULT 0,
	repair TEXT NOT NULL, -- state.GapRepair.Text
	PRIMARY KEY (pipeline, stream, shard, after)
) STRICT, WITHOUT ROWID`,
	`CREATE TABLE "_tws_fingerprints" (
	pipeline TEXT NOT NULL,
	sink TEXT NOT NULL,
	generation INTEGER NOT NULL,
	birth TEXT NOT NULL,
	settings TEXT NOT NULL, -- JSON
	PRIMARY KEY (pipeline, sink)
) STRICT, WITHOUT ROWID`,
	// Tombstones of rows without a guard. They are stored apart from the rows.
	`CREATE TABLE "_tws_tombstones" (
	target INTEGER NOT NULL,
	pk ANY NOT NULL, -- as the table of rows has it
	sk ANY NOT NULL,
	version TEXT NOT NULL,
	void INTEGER NOT NULL, -- the change of this version could not become a row
	item TEXT NOT NULL,
	written INTEGER NOT NULL,
	PRIMARY KEY (target, pk, sk)
) STRICT, WITHOUT ROWID`,
	// The birth of each sink's output, with the identities of the state and the store that belong to it.
	`CREATE TABLE "_tws_births" (
	pipeline TEXT NOT NULL,
	sink TEXT NOT NULL,
	target TEXT NOT NULL,
	id TEXT NOT NULL,
	made INTEGER NOT NULL,
	state TEXT NOT NULL,
	store TEXT NOT NULL,
	begun INTEGER NOT NULL,
	fresh INTEGER NOT NULL,
	stage TEXT NOT NULL, -- '' is live
	floor INTEGER,
	stream TEXT NOT NULL,
	run TEXT NOT NULL,
	read_until INTEGER,
	left_out INTEGER,
	PRIMARY KEY (pipeline, sink, target)
) STRICT, WITHOUT ROWID`,
	`CREATE TABLE "_tws_backfills" (
	pipeline TEXT NOT NULL,
	run TEXT NOT NULL,
	sinks TEXT NOT NULL,
	source TEXT NOT NULL,
	begun INTEGER,
	"from" INTEGER,
	parts INTEGER NOT NULL,
	PRIMARY KEY (pipeline, run)
) STRICT, WITHOUT ROWID`,
	// The progress of each part of a backfill, and the process that reads it.
	`CREATE TABLE "_tws_parts" (
	pipeline TEXT NOT NULL,
	run TEXT NOT NULL,
	id TEXT NOT NULL,
	owner TEXT NOT NULL,
	counter INTEGER NOT NULL,
	position TEXT NOT NULL,
	items INTEGER NOT NULL,
	done INTEGER NOT NULL,
	PRIMARY KEY (pipeline, run, id)
) STRICT, WITHOUT ROWID`,
}

// prepareFile creates the tables if the file is empty. It creates all of them in one transaction.
func (w *Writer) prepareFile() error {
	found, err := w.db.readFormat(context.Background(), w.conn)
	if err != nil || found == Format {
		return err
	}
	return w.Transact(func() error {
		// Another process may have prepared the file since the check.
		if found, err = w.db.readFormat(context.Background(), w.conn); err != nil {
			return err
		}
		if found == Format {
			return nil
		}
		for _, q := range layout {
			if err := w.ExecDDL(q); err != nil {
				return err
			}
		}
		return w.ExecDDL(fmt.Sprintf("PRAGMA user_version = %d", Format))
	})
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readFormat returns the format of the file, or 0 if the file is empty or was not made by this package. It returns an
// error for any other format than 0 and Format.
func (db *DB) readFormat(ctx context.Context, q queryer) (int, error) {
	var found int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return 0, db.WrapError("open", err)
	}
	switch {
	case found > 0 && found < Format:
		return 0, pipeline.Fatal(
			errs.Errorf(
				"sqlite: %s has the format %d of an older tablewake and this one writes %d: %s", db.path, found, Format, refillHint))
	case found > Format:
		return 0, pipeline.Fatal(
			errs.Errorf("sqlite: %s has the format %d and this program knows %d: use a newer tablewake, or another file",
				db.path, found, Format))
	}
	return found, nil
}
