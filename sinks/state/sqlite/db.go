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
	ReadOnly    bool          // the file must exist and is not changed; writing fails. Default: the file and its folder are made, and written
	BusyTimeout time.Duration // how long a write waits for another process. Default: 5s

	// Witness is the path of a file by which [State.Identity] distinguishes the database from
	// another one under its name, and from an older copy. It is written each time the database is
	// opened for writing, which one process at a time may do. Default: no identity
	Witness string
}

// DB is one SQLite file. It is safe for concurrent use; its writes take turns.
type DB struct {
	path    string
	writer  *sql.DB
	reader  reader
	witness *witness     // nil: an older copy of the file is not detected
	opened  disk.Opened  // of who writes
	turn    chan *Writer // holds the Writer while nobody uses it; nil in it: closed, or read-only
}

// Open opens the file at path, and goes on where the last process left it.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if path == "" {
		return nil, errors.New("sqlite: path is empty")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db := &DB{path: path, turn: make(chan *Writer, 1)}
	db.reader.prepared = make(map[string]*sql.Stmt)
	var w *Writer
	if db.reader.DB, err = sql.Open("sqlite", dsn(abs, o, "query_only(true)")); err != nil {
		err = db.WrapError("open", err)
	} else if o.ReadOnly {
		err = db.checkReadable(ctx, abs)
	} else {
		w, err = db.openWriter(ctx, abs, o)
	}
	db.turn <- w
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (db *DB) checkReadable(ctx context.Context, abs string) error {
	if _, err := os.Stat(abs); err != nil {
		return fmt.Errorf("sqlite: nothing to read: %w", err)
	}
	found, err := db.format(ctx, db.reader.DB)
	if err == nil && found == 0 {
		err = errs.Errorf("sqlite: %s holds no views", db.path)
	}
	return err
}

func (db *DB) openWriter(ctx context.Context, abs string, o Options) (*Writer, error) {
	err := private.MkdirAll(filepath.Dir(abs))
	if err == nil {
		err = makeFile(abs)
	}
	if err != nil {
		return nil, disk.Failed(fmt.Errorf("sqlite: %w", err))
	}
	// FULL: with WAL, NORMAL would lose the last commits in a power failure, which
	// have been acknowledged by then.
	db.writer, err = sql.Open("sqlite", dsn(abs, o, "journal_mode(wal)", "synchronous(full)",
		"wal_autocheckpoint(4000)", // pages, 16 MiB
		"cache_size(-32768)",       // KiB
		"temp_store(memory)"))      // also what undoes a savepoint, which is no larger than the pages that it writes
	if err != nil {
		return nil, db.WrapError("open", err)
	}
	db.writer.SetMaxOpenConns(1)
	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return nil, db.WrapError("open", err)
	}
	w := &Writer{db: db, conn: conn, prepared: make(map[string]*sql.Stmt), targets: make(map[state.Target]int64)}
	if err := w.prepareFile(ctx); err != nil {
		return w, err
	}
	if db.opened, err = disk.Opening(abs); err != nil || o.Witness == "" {
		return w, err
	}
	db.witness = &witness{path: o.Witness}
	return w, db.witness.renewToken(ctx, w)
}

// makeFile makes an empty file where there is none. The engine gives the files beside it the same mode.
// One that is there is not opened: closing it would release the engine's locks on it.
func makeFile(path string) error {
	f, err := private.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn names the file and the settings of every connection to it.
func dsn(abs string, o Options, pragmas ...string) string {
	busy := cmp.Or(o.BusyTimeout, 5*time.Second)
	q := url.Values{"_pragma": append([]string{"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")"}, pragmas...)}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: q.Encode()}
	return u.String()
}

// Path is the file's name, as it was given to Open.
func (db *DB) Path() string { return db.path }

// Reader is the connections that read, each statement a state of the file that was
// committed. It may be used by several goroutines until Close.
func (db *DB) Reader() *sql.DB { return db.reader.DB }

// Write runs do with the writing connection, which nobody else uses meanwhile.
// It blocks until the connection is free. The error is transient where ctx is done
// before that, and fatal where the file is closed, was opened to be read, or is not at its
// path any more.
func (db *DB) Write(ctx context.Context, do func(w *Writer) error) error {
	select {
	case w := <-db.turn:
		defer func() { db.turn <- w }()
		if w == nil {
			return db.WrapError("write", errClosed)
		}
		if err := db.opened.There(); err != nil {
			return fmt.Errorf("sqlite: %w", err)
		}
		return do(w)
	case <-ctx.Done():
		return CanceledError(ctx)
	}
}

// Close closes the file. What was reported as done is in it already. A second
// Close does nothing.
func (db *DB) Close() error {
	w := <-db.turn
	db.turn <- nil
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
