package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
)

// ReadOptions say what of a store is read.
type ReadOptions struct {
	Prefix     string // of the object names. Default: all
	TableInKey bool   // keys are prefixed by their table, as DecoderOptions.TableInKey made them
}

// Read yields every archived change once, the versions of an item in their
// order, items in the order of their keys. It merges the objects of a log as
// streams, about 1 MB of memory each; of objects per item it keeps the names,
// keys and versions. A pulled error ends the sequence.
func Read(ctx context.Context, l Lister, o ReadOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m, err := openMerge(ctx, l, o)
		defer m.close()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		var last Entry
		for {
			e, err := m.next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if last.Line != nil && compareEntries(last, e) == 0 {
				continue
			}
			last = e
			if !yield(e, nil) {
				return
			}
		}
	}
}

func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), a.Version.Compare(b.Version))
}

// run is a sorted sequence of entries. next ends with io.EOF.
type run interface {
	next(ctx context.Context) (Entry, error)
	close() error
}

// merge yields the entries of its runs in order. It is a heap of their heads.
type merge struct {
	heads []head
}

type head struct {
	Entry
	run run
}

func (m *merge) Len() int           { return len(m.heads) }
func (m *merge) Less(i, j int) bool { return compareEntries(m.heads[i].Entry, m.heads[j].Entry) < 0 }
func (m *merge) Swap(i, j int)      { m.heads[i], m.heads[j] = m.heads[j], m.heads[i] }
func (m *merge) Push(x any)         { m.heads = append(m.heads, x.(head)) }
func (m *merge) Pop() any {
	x := m.heads[len(m.heads)-1]
	m.heads = m.heads[:len(m.heads)-1]
	return x
}

// openMerge opens every object under the prefix. The merge is to be closed also
// after an error.
func openMerge(ctx context.Context, l Lister, o ReadOptions) (*merge, error) {
	m := &merge{}
	items := &itemRun{store: l, tableInKey: o.TableInKey}
	for info, err := range l.List(ctx, o.Prefix) {
		if err != nil {
			return m, err
		}
		if !isLog(info.Name) {
			if err := items.add(ctx, info.Name); err != nil {
				return m, err
			}
			continue
		}
		r, err := openRun(ctx, l, info.Name, o.TableInKey)
		if err != nil {
			return m, err
		}
		if err := m.add(ctx, r); err != nil {
			return m, err
		}
	}
	items.sort()
	return m, m.add(ctx, items)
}

// add takes a run, or closes it where it is empty or fails.
func (m *merge) add(ctx context.Context, r run) error {
	e, err := r.next(ctx)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return r.close()
		}
		return errors.Join(err, r.close())
	}
	heap.Push(m, head{e, r})
	return nil
}

func (m *merge) next(ctx context.Context) (Entry, error) {
	if len(m.heads) == 0 {
		return Entry{}, io.EOF
	}
	top := &m.heads[0]
	out := top.Entry
	e, err := top.run.next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		if err := heap.Pop(m).(head).run.close(); err != nil {
			return Entry{}, err
		}
	case err != nil:
		return Entry{}, err
	default:
		top.Entry = e
		heap.Fix(m, 0)
	}
	return out, nil
}

func (m *merge) close() {
	for _, h := range m.heads {
		_ = h.run.close() // what was read is read
	}
}

// openRun opens an object of a log.
func openRun(ctx context.Context, s Store, name string, tableInKey bool) (run, error) {
	if f, _ := formatOf(name); f == Parquet {
		return openParquet(ctx, s, name, tableInKey)
	}
	return openLog(ctx, s, name, tableInKey)
}

// inOrder is an error where e cannot stand behind last, the zero Entry at first.
func inOrder(last, e Entry) error {
	if last.Line == nil || compareEntries(last, e) < 0 {
		return nil
	}
	return errors.New("its changes are not in the order of items and versions; it was not written by an archive, or keys were read with another TableInKey")
}

// logRun reads one object of JSON lines.
type logRun struct {
	name       string
	tableInKey bool
	body       io.ReadCloser
	plain      io.ReadCloser
	lines      *bufio.Reader
	last       Entry
}

func openLog(ctx context.Context, s Store, name string, tableInKey bool) (*logRun, error) {
	body, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	f, _ := formatOf(name)
	plain, err := decompress(f, body)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("archive: %s: %w", name, err), body.Close())
	}
	return &logRun{name: name, tableInKey: tableInKey, body: body, plain: plain, lines: bufio.NewReader(plain)}, nil
}

func (r *logRun) next(ctx context.Context) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	line, err := r.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return Entry{}, io.EOF
	}
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", r.name, err)
	}
	e, err := parseLine(bytes.TrimSuffix(line, []byte("\n")), r.tableInKey)
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", r.name, err)
	}
	if err := inOrder(r.last, e); err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", r.name, err)
	}
	r.last = e
	return e, nil
}

func (r *logRun) close() error {
	return errors.Join(r.plain.Close(), r.body.Close())
}

// itemRun reads objects of one change each, in the order of their items.
type itemRun struct {
	store      Store
	tableInKey bool
	items      []item
}

type item struct {
	key     pipeline.Key
	version pipeline.Version
	name    string
}

func (r *itemRun) add(ctx context.Context, name string) error {
	e, err := r.read(ctx, name)
	if err != nil {
		return err
	}
	// The strings of a change keep its whole line alive.
	r.items = append(r.items, item{pipeline.Key(strings.Clone(string(e.Key))), e.Version, name})
	return nil
}

func (r *itemRun) sort() {
	slices.SortFunc(r.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.key, b.key), a.version.Compare(b.version))
	})
}

func (r *itemRun) read(ctx context.Context, name string) (Entry, error) {
	body, err := r.store.Get(ctx, name)
	if err != nil {
		return Entry{}, err
	}
	line, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", name, err)
	}
	e, err := parseLine(bytes.TrimSpace(line), r.tableInKey)
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", name, err)
	}
	return e, nil
}

func (r *itemRun) next(ctx context.Context) (Entry, error) {
	if len(r.items) == 0 {
		return Entry{}, io.EOF
	}
	name := r.items[0].name
	r.items = r.items[1:]
	return r.read(ctx, name)
}

func (r *itemRun) close() error { return nil }
