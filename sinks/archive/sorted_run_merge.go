package archive

import (
	"container/heap"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
)

// run is a sequence of entries, sorted by item and version. next returns io.EOF after the last entry.
type run interface {
	next(ctx context.Context) (Entry, error)
	close() error
}

// merge merges runs into one sorted sequence. It is a heap of the runs' first entries.
type merge struct {
	heads []head
}

type head struct {
	Entry
	run run
}

var _ heap.Interface = (*merge)(nil)

func (m *merge) Len() int           { return len(m.heads) }
func (m *merge) Less(i, j int) bool { return compareEntries(m.heads[i].Entry, m.heads[j].Entry) < 0 }
func (m *merge) Swap(i, j int)      { m.heads[i], m.heads[j] = m.heads[j], m.heads[i] }
func (m *merge) Push(x any)         { m.heads = append(m.heads, x.(head)) }
func (m *merge) Pop() any {
	x := m.heads[len(m.heads)-1]
	m.heads[len(m.heads)-1] = head{}
	m.heads = m.heads[:len(m.heads)-1]
	return x
}

// add adds a run. It closes the run instead if the run is empty or fails.
func (m *merge) add(ctx context.Context, r run) error {
	e, err := r.next(ctx)
	if pipeline.IsEnd(err) {
		return r.close()
	}
	if err != nil {
		return errors.Join(err, r.close())
	}
	heap.Push(m, head{e, r})
	return nil
}

// next returns the next entry of all runs, and io.EOF after the last one.
func (m *merge) next(ctx context.Context) (Entry, error) {
	if len(m.heads) == 0 {
		return Entry{}, io.EOF
	}
	first := &m.heads[0]
	entry := first.Entry
	following, err := first.run.next(ctx)
	if pipeline.IsEnd(err) {
		if err := heap.Pop(m).(head).run.close(); err != nil {
			return Entry{}, err
		}
		return entry, nil
	}
	if err != nil {
		return Entry{}, err
	}
	first.Entry = following
	heap.Fix(m, 0)
	return entry, nil
}

// groups yields the entries, grouped by item and version. A group is valid until the next group.
func (m *merge) groups(ctx context.Context) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		var group []Entry
		var err error
		for err == nil {
			group, err = m.nextGroup(ctx, group[:0])
			if pipeline.IsEnd(err) || !yield(group, err) {
				return
			}
		}
	}
}

// nextGroup appends the next entries of one item and version to group, and returns io.EOF after the last entries.
func (m *merge) nextGroup(ctx context.Context, group []Entry) ([]Entry, error) {
	first, err := m.next(ctx)
	if err != nil {
		return nil, err
	}
	group = append(group, first)
	for len(m.heads) > 0 && compareEntries(m.heads[0].Entry, first) == 0 {
		e, err := m.next(ctx)
		if err != nil {
			return nil, err
		}
		group = append(group, e)
	}
	return group, nil
}

func (m *merge) close() {
	for _, h := range m.heads {
		_ = h.run.close() // nothing more is read from the run, so an error loses nothing
	}
	m.heads = nil
}
