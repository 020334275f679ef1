package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/bounded"
)

// openRun opens an object as a run, a sorted sequence of entries.
func openRun(ctx context.Context, s Store, name string, tableInKey bool) (run, error) {
	f, isLog := formatOf(name)
	switch {
	case !isLog:
		return openItem(ctx, s, name, tableInKey)
	case f == Parquet:
		return openParquet(ctx, s, name, tableInKey)
	}
	return openLog(ctx, s, name, f, tableInKey)
}

// logRun reads an object of JSON lines.
type logRun struct {
	entries
	body  io.ReadCloser
	plain io.ReadCloser
	lines *bufio.Reader
}

// entries parses the lines of an object and checks their order.
type entries struct {
	name       string
	tableInKey bool
	last       Entry // the entry before; zero at first
}

// parse returns the entry of the next line.
func (r *entries) parse(line []byte) (Entry, error) {
	e, err := parseLine(line, r.tableInKey)
	return r.accept(e, err)
}

// accept returns e. It returns an error if err is not nil, or if e is before the last entry.
func (r *entries) accept(e Entry, err error) (Entry, error) {
	if err == nil && r.last.Line != nil && compareEntries(r.last, e) > 0 {
		err = errs.New(
			"its changes are not in the order of items and versions; it was not written by an archive, or keys were read with another TableInKey")
	}
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", r.name, err)
	}
	r.last = e
	return e, nil
}

// openLog opens an object of JSON lines.
func openLog(ctx context.Context, s Store, name string, f Format, tableInKey bool) (*logRun, error) {
	body, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	compressed := bufio.NewReader(body)
	if _, err := compressed.Peek(1); pipeline.IsEnd(err) {
		return nil, errors.Join(errs.Errorf("archive: %s: the object is empty: restore it if the store does not hold it whole",
			name), body.Close())
	}
	plain, err := decompress(f, compressed)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("archive: %s: %w", name, err), body.Close())
	}
	return &logRun{entries: entries{name: name, tableInKey: tableInKey}, body: body, plain: plain,
		lines: bufio.NewReader(plain)}, nil
}

func (r *logRun) next(ctx context.Context) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	line, err := r.lines.ReadBytes('\n')
	if pipeline.IsEnd(err) && len(line) == 0 {
		return Entry{}, io.EOF
	}
	if err == io.ErrUnexpectedEOF { //nolint:errorlint // an error that wraps it is a broken connection
		err = errs.New("the object is cut short: restore it, or remove it")
	}
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", r.name, err)
	}
	return r.parse(bytes.TrimSuffix(line, []byte("\n")))
}

func (r *logRun) close() error {
	return errors.Join(r.plain.Close(), r.body.Close())
}

// memoryRun is a run of entries in memory.
type memoryRun struct{ entries []Entry }

func (r *memoryRun) next(context.Context) (Entry, error) {
	if len(r.entries) == 0 {
		return Entry{}, io.EOF
	}
	e := r.entries[0]
	r.entries[0] = Entry{}
	r.entries = r.entries[1:]
	return e, nil
}

func (r *memoryRun) close() error { return nil }

// openItem reads an object of one change, and returns a run with its entry.
func openItem(ctx context.Context, s Store, name string, tableInKey bool) (run, error) {
	body, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	line, err := bounded.ReadAll(body, bounded.Object)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	e, err := parseLine(bytes.TrimSpace(line), tableInKey)
	if err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	return &memoryRun{[]Entry{e}}, nil
}
