package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("search")

// Store stores the indexes of one sink in a SQLite file. A store of [OpenReader] sees the indexes of all sinks. It is
// safe for concurrent use. Calls that write wait for each other.
type Store struct {
	state.Fingerprints // settings that shaped the documents, for all sinks that write to the file
	db                 *sqlite.DB
	owner              search.Owner
	opened             bool  // the store opened the file, and Close closes it
	paths              paths // used with the writing connection only
}

var (
	_ search.Store       = (*Store)(nil)
	_ search.Reader      = (*Store)(nil)
	_ search.Inspector   = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
)

// New returns a store in db, which is open for writing. The caller closes db after the last use of the
// store.
func New(ctx context.Context, db *sqlite.DB, owner search.Owner) (*Store, error) {
	if owner.Pipeline == "" || owner.Sink == "" {
		return nil, errors.New("sqlite: Owner is incomplete: name the pipeline and the sink that write the indexes")
	}
	err := db.Write(ctx, func(w *sqlite.Writer) error { return prepare(ctx, db, w) })
	if err != nil {
		return nil, err
	}
	return NewReader(db, owner), nil
}

// NewReader returns a store in db that creates nothing, for a caller that only reads.
func NewReader(db *sqlite.DB, owner search.Owner) *Store {
	return &Store{Fingerprints: db, db: db, owner: owner, paths: make(paths)}
}

// Open opens the file at path for the indexes of a sink. Close closes it.
func Open(ctx context.Context, path string, owner search.Owner, o sqlite.Options) (*Store, error) {
	db, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	s, err := New(ctx, db, owner)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.opened = true
	return s, nil
}

// OpenReader opens the file at path to read the indexes of all sinks. The file must exist.
func OpenReader(ctx context.Context, path string) (*Store, error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	s := NewReader(db, anySink)
	s.opened = true
	return s, nil
}

// Close closes the file if Open or OpenReader opened it. A second Close does nothing.
func (s *Store) Close() error {
	if !s.opened {
		return nil
	}
	return s.db.Close()
}

// Create creates a missing index, so that it can be searched before its first document.
// The error is a [search.ForeignIndexError] if the index belongs to another sink.
func (s *Store) Create(ctx context.Context, name string) error {
	if err := search.CheckIndex(name); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return s.db.Write(ctx, func(w *sqlite.Writer) error {
		_, foreign, err := s.ensureIndex(w, name)
		if err != nil || foreign == nil {
			return err
		}
		return foreign
	})
}

// Check is [Store.Create] for a caller that changes nothing: it returns the same errors, and creates no index.
func (s *Store) Check(ctx context.Context, name string) error {
	if err := search.CheckIndex(name); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	if exists, err := hasLayout(ctx, s.db); err != nil || !exists {
		return err
	}
	owner, found, err := sqlite.ReadFirst(ctx, s.db, readFilledIndexOwner, []any{name}, scanOwner)
	if err == nil && found && owner != s.owner {
		return &search.ForeignIndexError{Writer: s.owner, Index: name, Owner: owner}
	}
	return err
}

func scanOwner(rows *sql.Rows) (owner search.Owner, err error) {
	err = rows.Scan(&owner.Pipeline, &owner.Sink)
	return owner, err
}

// ensureIndex returns the number of an index. It creates a missing index. It takes over an index of another sink if the
// index is empty. foreign is not nil if the index belongs to another sink and is not empty.
func (s *Store) ensureIndex(
	w *sqlite.Writer, name string,
) (id int64, foreign *search.ForeignIndexError, err error) {
	if err := w.Exec(claimIndex, name, s.owner.Pipeline, s.owner.Sink); err != nil {
		return 0, nil, err
	}
	var owner search.Owner
	if _, err := w.QueryRow(readIndex, []any{name}, &id, &owner.Pipeline, &owner.Sink); err != nil {
		return 0, nil, err
	}
	if owner != s.owner {
		return 0, &search.ForeignIndexError{Writer: s.owner, Index: name, Owner: owner}, nil
	}
	return id, nil, nil
}

// Indexes lists the indexes of all sinks by name.
func (s *Store) Indexes(ctx context.Context) ([]string, error) {
	if made, err := hasLayout(ctx, s.db); err != nil || !made {
		return nil, err
	}
	return sqlite.ReadAll(ctx, s.db, allNames, nil, sqlite.ScanColumn[string])
}

// find returns the number of an index that belongs to a sink; to any sink if owner is zero. It returns
// [search.ErrNoIndex] if there is no such index.
func (s *Store) find(ctx context.Context, name string, owner search.Owner) (id int64, err error) {
	query, args := readIndexID, []any{name}
	if owner != (search.Owner{}) {
		query, args = readOwnIndexID, append(args, owner.Pipeline, owner.Sink)
	}
	found, err := hasLayout(ctx, s.db)
	if found {
		id, found, err = sqlite.ReadFirst(ctx, s.db, query, args, sqlite.ScanColumn[int64])
	}
	if err == nil && !found {
		err = fmt.Errorf("%w: %s", search.ErrNoIndex, name)
	}
	return id, err
}

// anySink is the owner for find if an index may belong to any sink.
var anySink search.Owner
