package archive

import (
	"container/heap"
	"context"
	"errors"
	"io"

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
	if err != nil {
		if pipeline.IsEnd(err) {
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
	case pipeline.IsEnd(err):
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
		_ = h.run.close() // all entries were read, so an error loses nothing
	}
	m.heads = nil
}
