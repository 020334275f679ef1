package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/tablewake/tablewake/sinks/view"
)

// Options shape a store.
type Options struct {
	ReadOnly    bool          // the file must exist and is not changed; Apply fails. Default: the file and its folder are made, and written
	BusyTimeout time.Duration // how long a write waits for another process. Default: 5s
}

// Store holds the rows of any number of view tables in one file. It is safe for
// concurrent use; its writes take turns.
type Store struct {
	path   string
	writer *sql.DB
	reader *sql.DB

	turn   chan struct{} // holds a token while nobody uses what is below
	conn   *sql.Conn     // the one connection that writes; nil where read-only
	tables map[string]*table
	buf    []byte // for the JSON of a row
}

var (
	_ view.Store  = (*Store)(nil)
	_ view.Reader = (*Store)(nil)
)

// Open opens the file at path, and goes on where the last process left it.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if path == "" {
		return nil, errors.New("sqlite: path is empty")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	s := &Store{path: path, turn: make(chan struct{}, 1), tables: make(map[string]*table)}
	s.turn <- struct{}{}
	if s.reader, err = sql.Open("sqlite", dsn(abs, o, "query_only(true)")); err != nil {
		return nil, s.failed("open", err)
	}
	if o.ReadOnly {
		err = s.checkReadable(ctx, abs)
	} else {
		err = s.openWriter(ctx, abs, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) checkReadable(ctx context.Context, abs string) error {
	if _, err := os.Stat(abs); err != nil {
		return fmt.Errorf("sqlite: no views to read: %w", err)
	}
	found, err := s.format(ctx, s.reader)
	if err == nil && found != format {
		err = fmt.Errorf("sqlite: %s holds no views", s.path)
	}
	return err
}

func (s *Store) openWriter(ctx context.Context, abs string, o Options) error {
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	var err error
	// FULL: with WAL, NORMAL would lose the last commits in a power failure, which
	// have been acknowledged by then.
	s.writer, err = sql.Open("sqlite", dsn(abs, o, "journal_mode(wal)", "synchronous(full)",
		"wal_autocheckpoint(4000)", // pages, 16 MiB
		"cache_size(-32768)"))      // KiB
	if err != nil {
		return s.failed("open", err)
	}
	s.writer.SetMaxOpenConns(1)
	if s.conn, err = s.writer.Conn(ctx); err != nil {
		return s.failed("open", err)
	}
	return s.prepareFile(ctx)
}

// dsn names the file and the settings of every connection to it.
func dsn(abs string, o Options, pragmas ...string) string {
	busy := cmp.Or(o.BusyTimeout, 5*time.Second)
	q := url.Values{"_pragma": append([]string{"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")"}, pragmas...)}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: q.Encode()}
	return u.String()
}

// Close closes the file. What Apply reported as held is in it already. A second
// Close does nothing.
func (s *Store) Close() error {
	var errs []error
	if s.conn != nil {
		<-s.turn
		for _, t := range s.tables {
			errs = append(errs, t.close())
		}
		clear(s.tables)
		errs = append(errs, s.conn.Close())
		s.conn = nil
		s.turn <- struct{}{}
	}
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// use takes the turn to use the writing connection; done gives it back.
func (s *Store) use(ctx context.Context) (done func(), err error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, stopped(ctx)
	}
	if s.conn == nil {
		s.turn <- struct{}{}
		return nil, s.failed("write", errClosed)
	}
	return func() { s.turn <- struct{}{} }, nil
}
