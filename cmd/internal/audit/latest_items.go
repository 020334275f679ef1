package audit

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// latestItems has the last state of each item in saved records and in a snapshot. It stores these items in a SQLite
// file. It is a snapshot with a single part, and a [run.Lookup].
type latestItems struct {
	db            *sql.DB
	decoder       record.DecoderOptions
	source        string
	items         int64
	sum           hash.Hash // hash of the keys and versions of the decoded changes
	hasUnknownKey bool      // some record has an undecodable key: an item may exist without a known record
	hasSnapshot   bool      // all items of a snapshot of the table were added
}

var (
	_ snapshot.Snapshot = (*latestItems)(nil)
	_ run.Lookup        = (*latestItems)(nil)
)

// latestPageSize is the maximum number of items in a page of a latestReader.
const latestPageSize = 256

// openLatest makes a file at path, and calls read to add saved records. It returns an error if a record that writes an
// item has no new image, because the record does not show the item.
func openLatest(
	ctx context.Context, path, source string, decoder record.DecoderOptions, read func(*latestItems) error,
) (_ *latestItems, err error) {
	escaped := strings.ReplaceAll(path, "?", "%3f")
	db, err := sql.Open("sqlite", "file:"+escaped+"?_pragma=journal_mode(off)&_pragma=synchronous(off)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	l := &latestItems{db: db, decoder: decoder, source: source, sum: sha256.New()}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if _, err = db.ExecContext(ctx,
		`DROP TABLE IF EXISTS items; CREATE TABLE items (key TEXT PRIMARY KEY, version TEXT NOT NULL, there INTEGER NOT NULL, record BLOB NOT NULL) WITHOUT ROWID`); err != nil {
		return nil, err
	}
	if err := read(l); err != nil {
		return nil, err
	}
	return l, db.QueryRowContext(ctx, `SELECT count(*) FROM items WHERE there`).Scan(&l.items)
}

// add stores each change of a page, and the error of each undecodable record. It skips a change or an error if
// something newer is stored for the same item. Every record of the stream is newer than an item of a snapshot.
func (l *latestItems) add(ctx context.Context, page *record.Page) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for i := range page.Changes {
		if err := l.addChange(ctx, tx, &page.Changes[i]); err != nil {
			return err
		}
	}
	for _, e := range page.Errors {
		if err := l.addError(ctx, tx, e); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (l *latestItems) addChange(ctx context.Context, tx *sql.Tx, c *record.Change) error {
	if !c.Removed() && !c.New.Exists() {
		return fmt.Errorf(
			"a record of the item %s has no new image: an audit needs records with NEW_AND_OLD_IMAGES or NEW_IMAGE", c.Key)
	}
	fmt.Fprintf(l.sum, "%s %s\n", c.Key, c.Version)
	_, err := tx.ExecContext(ctx, `INSERT INTO items VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
		SET version = excluded.version, there = excluded.there, record = excluded.record WHERE excluded.version > items.version`,
		string(c.Key), c.Version.String(), !c.Removed(), c.RecordJSON())
	return err
}

func (l *latestItems) addError(ctx context.Context, tx *sql.Tx, e *record.RecordError) error {
	if e.Key == "" {
		l.hasUnknownKey = true
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO items VALUES (?, ?, 0, ?) ON CONFLICT (key) DO UPDATE
		SET version = excluded.version, there = excluded.there, record = excluded.record WHERE excluded.version >= items.version`,
		string(e.Key), e.Version.String(), append([]byte(undecodablePrefix), e.Err.Error()...))
	return err
}

// undecodablePrefix begins what is stored in place of a record that cannot be decoded. The text of the error follows
// the prefix.
const undecodablePrefix = "\x00"

// Info implements [snapshot.Snapshot]. The source name includes a hash of the records. A repair compares the name,
// because it must use the same records as the audit.
func (l *latestItems) Info() snapshot.Info {
	return snapshot.Info{Source: fmt.Sprintf("%s sha256:%x", l.source, l.sum.Sum(nil)[:8]), View: record.NewAndOldImages,
		Items: l.items, Bytes: -1}
}

// Parts implements [snapshot.Snapshot].
func (l *latestItems) Parts() []snapshot.Part {
	return []snapshot.Part{{ID: "records", Items: l.items, Bytes: -1}}
}

// Open implements [snapshot.Snapshot]. A position is the key of the last item that was read.
func (l *latestItems) Open(_ context.Context, _ string, from pipeline.Position) (snapshot.Reader, error) {
	return &latestReader{l, string(from)}, nil
}

// Close closes the file.
func (l *latestItems) Close() error { return l.db.Close() }

type latestReader struct {
	*latestItems
	after string
}

// Read implements [snapshot.Reader].
func (r *latestReader) Read(ctx context.Context) (*pipeline.Page, error) {
	rows, err := r.db.QueryContext(ctx, `SELECT key, record FROM items WHERE there AND key > ? ORDER BY key LIMIT ?`,
		r.after, latestPageSize)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	page := &pipeline.Page{}
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&r.after, &b); err != nil {
			return nil, err
		}
		last, err := r.lastState(b)
		if err != nil {
			return nil, err
		}
		page.Changes = append(page.Changes, last.Change)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(page.Changes) == 0 {
		return nil, io.EOF
	}
	page.Position = pipeline.Position(r.after)
	return page, nil
}

// Close implements [snapshot.Reader]. The file of the latestItems stays open.
func (r *latestReader) Close() error { return nil }

// lastState decodes a stored record, and returns the state of its item.
func (l *latestItems) lastState(b []byte) (audit.ItemState, error) {
	c, err := record.OneChange(record.NewDecoder(l.decoder).Decode(b))
	return audit.LastState(c), err
}

// Read implements [run.Lookup].
func (l *latestItems) Read(ctx context.Context, keys []item.Key) ([]run.Item, error) {
	items := make([]run.Item, len(keys))
	for i, key := range keys {
		var err error
		if items[i], err = l.readItem(ctx, key); err != nil {
			return nil, fmt.Errorf("item %s: %w", key, err)
		}
	}
	return items, nil
}

// readItem reads the last change of an item. If the state of the item is unknown, found.Err says why.
func (l *latestItems) readItem(ctx context.Context, key item.Key) (found run.Item, err error) {
	var b []byte
	err = l.db.QueryRowContext(ctx, `SELECT record FROM items WHERE key = ?`, string(key)).Scan(&b)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return l.itemWithoutRecord(key), nil
	case err != nil:
		return run.Item{}, err
	}
	if errorText, isUndecodable := strings.CutPrefix(string(b), undecodablePrefix); isUndecodable {
		return run.Item{Err: errors.New(errorText)}, nil
	}
	found.ItemState, err = l.lastState(b)
	return found, err
}

// itemWithoutRecord returns an item that has no records as a REMOVE, with made-up names for the key attributes. If a
// snapshot of the table was added, it is the evidence: it does not have the item. If the state of the item is unknown,
// found.Err says why.
func (l *latestItems) itemWithoutRecord(k item.Key) (found run.Item) {
	if l.hasUnknownKey {
		found.Err = errors.New("no record of it can be decoded, and of some records not even the key can be")
		return found
	}
	keys, err := itemkey.Nameless(k)
	if err != nil {
		found.Err = fmt.Errorf("it is stored under a key that no table has: %w", err)
		return found
	}
	found.Change, found.Err = itemkey.Change(l.decoder, "REMOVE", record.KeysOnly, keys, item.Image{})
	found.Evidence = audit.NoEvidence
	if l.hasSnapshot {
		found.Evidence = audit.TableSnapshot
	}
	return found
}
