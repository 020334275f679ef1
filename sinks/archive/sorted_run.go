package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/pipeline/inputs"
)

// openRun opens an object as a run, a sorted sequence of entries.
func openRun(ctx context.Context, s Store, name string, tableInKey bool) (run, error) {
	f, isLog := formatOf(name)
	switch {
	case !isLog:
		e, err := readItem(ctx, s, name, tableInKey)
		return &memoryRun{[]Entry{e}}, err
	case f == Parquet:
		return openParquet(ctx, s, name, tableInKey)
	}
	return openLog(ctx, s, name, tableInKey)
}

// logRun reads an object of JSON lines.
type logRun struct {
	entries
	body  io.Closer
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
	if err != nil {
		return Entry{}, r.wrapError(err)
	}
	return e, r.checkOrder(e)
}

// checkOrder returns an error if the next entry, e, is before the last one.
func (r *entries) checkOrder(e Entry) error {
	if r.last.Line != nil && compareEntries(r.last, e) > 0 {
		return r.wrapError(errs.New(
			"its changes are not in the order of items and versions; it was not written by an archive, or keys were read with another TableInKey"))
	}
	r.last = e
	return nil
}

// wrapError adds the name of the object to an error.
func (r *entries) wrapError(err error) error { return fmt.Errorf("archive: %s: %w", r.name, err) }

// openLog opens an object of JSON lines.
func openLog(ctx context.Context, s Store, name string, tableInKey bool) (*logRun, error) {
	body, err := openLines(ctx, s, name)
	if err != nil {
		return nil, err
	}
	return &logRun{entries{name: name, tableInKey: tableInKey}, body, bufio.NewReader(body)}, nil
}

// openLines opens the decompressed lines of an object.
func openLines(ctx context.Context, s Store, name string) (io.ReadCloser, error) {
	body, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if body, err = inputs.Decompress(name, body); err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	return body, nil
}

func (r *logRun) next(ctx context.Context) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	line, err := r.lines.ReadBytes('\n')
	if pipeline.IsEnd(err) && len(line) == 0 {
		return Entry{}, io.EOF
	}
	if err != nil {
		return Entry{}, r.wrapError(err)
	}
	return r.parse(bytes.TrimSuffix(line, []byte("\n")))
}

func (r *logRun) close() error { return r.body.Close() }

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

// readItem reads an object of one change.
func readItem(ctx context.Context, s Store, name string, tableInKey bool) (Entry, error) {
	body, err := s.Get(ctx, name)
	if err != nil {
		return Entry{}, err
	}
	line, err := bounded.ReadAll(body, bounded.Object)
	line = bytes.TrimSpace(line)
	err = cmp.Or(err, body.Close(), inputs.CheckEnd(line))
	var e Entry
	if err == nil {
		e, err = parseItem(line, tableInKey)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", name, err)
	}
	return e, nil
}

// parseItem parses the content of an object of one change.
func parseItem(line []byte, tableInKey bool) (Entry, error) {
	if len(line) == 0 {
		return Entry{}, inputs.ErrEmpty
	}
	return parseLine(line, tableInKey)
}
