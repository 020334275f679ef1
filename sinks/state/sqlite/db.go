package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/state"
)

// Options shape a DB.
type Options struct {
	ReadOnly    bool          // the file must exist, and writes fail. Default: Open creates a missing file and its folder
	BusyTimeout time.Duration // how long a write waits for another process. Default: 5s

	// Witness is the path of a file beside the database. It distinguishes the database from another database of the
	// same name and from an older copy ([State.Identity]). Open writes the witness each time it opens the database for
	// writing. So only one process at a time may open it for writing. Default: the database has no identity.
	Witness string
	// LookOnly leaves an existing database and its witness as they are, for a caller that writes nothing. Default: a
	// sink's target gets an id when it is first read.
	LookOnly bool
	// File is the file that is opened in place of path. Errors name path. Default: path
	File string
}

// DB is one open SQLite file. It is safe for concurrent use. Calls that write wait for each other.
type DB struct {
	path       string
	lookOnly   bool // see Options.LookOnly
	writer     *sql.DB
	reader     reader
	witness    *witness      // nil if Options.Witness is "": older copies of the file are not detected
	opened     disk.OpenPath // checks that the path still leads to the file that was opened for writing
	idleWriter chan *Writer  // holds the Writer while no caller uses it, or nil if the DB is closed or read-only
}

// Open opens the file at path.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if path == "" {
		return nil, errors.New("sqlite: path is empty")
	}
	abs, err := filepath.Abs(cmp.Or(o.File, path))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db := &DB{path: path, lookOnly: o.LookOnly, idleWriter: make(chan *Writer, 1)}
	db.reader.prepared = make(map[string]*sql.Stmt)
	w, err := db.openConnections(ctx, abs, o)
	db.idleWriter <- w // also after an error, because Close takes it
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openConnections opens the reading connections and, unless o.ReadOnly is set, the writing connection. Without a
// writing connection w is nil. w may be set even if err is not nil.
func (db *DB) openConnections(ctx context.Context, abs string, o Options) (w *Writer, err error) {
	if db.reader.DB, err = sql.Open("sqlite", dsn(abs, o, "query_only(true)")); err != nil {
		return nil, db.WrapError("open", err)
	}
	if o.ReadOnly {
		return nil, db.checkReadable(ctx, abs)
	}
	return db.openWriter(ctx, abs, o)
}

// checkReadable returns an error if the file is missing, or is not a file of this package.
func (db *DB) checkReadable(ctx context.Context, abs string) error {
	if _, err := os.Stat(abs); err != nil {
		return fmt.Errorf("sqlite: nothing to read: %w", err)
	}
	found, err := db.readFormat(ctx, db.reader.DB)
	if err != nil {
		return err
	}
	if found == 0 {
		return errs.Errorf("sqlite: %s holds no views", db.path)
	}
	return nil
}

// openWriter opens the writing connection. It creates a missing file and its tables.
func (db *DB) openWriter(ctx context.Context, abs string, o Options) (*Writer, error) {
	err := private.MkdirAll(filepath.Dir(abs))
	if err == nil {
		err = createFile(abs)
	}
	if err != nil {
		return nil, disk.Classify(fmt.Errorf("sqlite: %w", err))
	}

	// In WAL mode, NORMAL would lose acknowledged commits in a power failure.
	db.writer, err = sql.Open("sqlite", dsn(abs, o, "journal_mode(wal)", "synchronous(full)",
		"wal_autocheckpoint(4000)", // pages, 16 MiB
		"cache_size(-32768)",       // KiB
		// for the undo log of a savepoint, which is at most as large as the pages that the savepoint writes
		"temp_store(memory)"))
	if err != nil {
		return nil, db.WrapError("open", err)
	}
	db.writer.SetMaxOpenConns(1)

	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return nil, db.WrapError("open", err)
	}
	w := &Writer{db: db, conn: conn, prepared: make(map[string]*sql.Stmt), targets: make(map[state.Target]int64)}
	if err := w.prepareFile(); err != nil {
		return w, err
	}

	if db.opened, err = disk.NewOpenPath(abs); err != nil || o.Witness == "" {
		return w, err
	}
	db.witness = &witness{path: o.Witness}
	return w, db.witness.open(ctx, w)
}

// createFile creates an empty file if no file exists. SQLite gives the other files of the database the same mode.
// createFile does not open an existing file, because closing it would release SQLite's locks on the file.
func createFile(path string) error {
	f, err := private.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn returns the driver's data source name: the file, and the settings of every connection to it.
func dsn(abs string, o Options, pragmas ...string) string {
	busy := cmp.Or(o.BusyTimeout, 5*time.Second)
	q := url.Values{"_pragma": append([]string{"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")"},
		pragmas...)}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: q.Encode()}
	return u.String()
}

// Path returns the path that was passed to Open.
func (db *DB) Path() string { return db.path }

// Reader returns the pool of reading connections. Each statement reads one committed state of the file, whatever is
// written during the read. Several goroutines may use the pool at once, until Close.
func (db *DB) Reader() *sql.DB { return db.reader.DB }

// Write calls do with the writing connection. It blocks until no other caller uses the connection. If ctx ends first,
// the error is transient. The error is fatal if the DB is closed or read-only, or if the file is no longer at its path.
func (db *DB) Write(ctx context.Context, do func(w *Writer) error) error {
	select {
	case w := <-db.idleWriter:
		defer func() { db.idleWriter <- w }()
		if w == nil {
			return db.WrapError("write", errClosed)
		}
		if err := db.opened.Check(); err != nil {
			return fmt.Errorf("sqlite: %w", err)
		}
		return do(w)
	case <-ctx.Done():
		return CanceledError(ctx)
	}
}

// Close closes the file. A second Close does nothing.
func (db *DB) Close() error {
	w := <-db.idleWriter
	db.idleWriter <- nil
	var errs []error
	if w != nil {
		errs = append(errs, w.close())
	}
	if db.reader.DB != nil {
		errs = append(errs, db.reader.close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.Close())
	}
	return errors.Join(errs...)
}

// State is the state of one pipeline in the file, except the guards and contributions of its views.
type State struct {
	db       *DB
	pipeline string
}

var _ state.Store = (*State)(nil)

// State returns the state of a pipeline. It may be used until db is closed.
func (db *DB) State(pipeline string) *State { return &State{db: db, pipeline: pipeline} }
