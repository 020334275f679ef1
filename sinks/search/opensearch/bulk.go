package opensearch

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
)

// Apply writes mutations as search.Store says, in one bulk request or in several
// that follow one another. Of several mutations of a document the newest is sent. A
// request that the server does not take whole is cut in halves until the document
// that it does not take stands alone. A document that does not fit the index's fields is sent
// once more, alone: concurrent requests may have made a field at once, each of its own type.
func (s *Store) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	b := &bulk{store: s, ms: ms, rs: make([]search.Result, len(ms)), index: make([]string, len(ms))}
	if err := b.rounds(ctx, b.newest()); err != nil {
		return nil, err
	}
	unfit := b.unfit
	b.last = true
	for _, i := range unfit {
		if err := b.rounds(ctx, []int{i}); err != nil {
			return nil, err
		}
	}
	b.share()
	return b.rs, nil
}

// rounds sends the mutations left until nothing may be sent again at once.
func (b *bulk) rounds(ctx context.Context, left []int) error {
	for round := 0; len(left) > 0 && round < maxRounds; round++ {
		if b.store.mode == Exact {
			if err := b.store.ensureScript(ctx); err != nil {
				return err
			}
		}
		left = b.write(ctx, b.resolve(ctx, left))
	}
	return nil
}

// maxRounds is how often a document is sent that another writer got ahead of each
// time, or whose index or script was just deleted: the runner then waits before it
// sends it again.
const maxRounds = 5

// bulk is one Apply.
type bulk struct {
	store *Store
	ms    []search.Mutation
	rs    []search.Result
	index []string // where each mutation is written; set of those that are sent
	by    []int    // which mutation writes for each: the newest of its document
	unfit []int    // those that do not fit the index's fields, at the first try
	last  bool     // they are tried for the last time

	stop error // the server can't go on: what was not sent yet is not
}

// document names a document.
type document struct{ index, id string }

// newest finds the newest mutation of each document, in order.
func (b *bulk) newest() []int {
	b.by = make([]int, len(b.ms))
	at := make(map[document]int, len(b.ms)) // into newest
	newest := make([]int, 0, len(b.ms))
	for i := range b.ms {
		m := &b.ms[i]
		d := document{m.Index, m.ID}
		j, seen := at[d]
		switch {
		case !seen:
			at[d] = len(newest)
			newest = append(newest, i)
		case m.Version.Compare(b.ms[newest[j]].Version) > 0:
			newest[j] = i
		}
	}
	for i := range b.ms {
		b.by[i] = newest[at[document{b.ms[i].Index, b.ms[i].ID}]]
	}
	return newest
}

// share gives the mutations that were not sent the result of the one that was: they
// fail where it failed.
func (b *bulk) share() {
	for i, by := range b.by {
		if i == by {
			continue
		}
		b.rs[i] = b.rs[by]
		if b.rs[i].Err != nil || b.rs[i].Outcome == pipeline.Superseded {
			continue
		}
		b.rs[i].Outcome = pipeline.Coalesced
		if i > by && b.ms[i].Version.Compare(b.ms[by].Version) < 0 {
			b.rs[i].Outcome = pipeline.Superseded
		}
	}
}

// resolve finds where each mutation of those at is written, and sets the results of
// those that can't be.
func (b *bulk) resolve(ctx context.Context, at []int) []int {
	type target struct {
		index string
		err   error
	}
	var name string
	var here target
	targets := make(map[string]target)
	left := at[:0:0]
	for _, i := range at {
		m := &b.ms[i]
		if m.Index != name || name == "" {
			var known bool
			if here, known = targets[m.Index]; !known {
				if here.err = search.CheckIndex(m.Index); here.err == nil {
					here.index, here.err = b.store.writeIndex(ctx, m.Index)
				}
				targets[m.Index] = here
			}
			name = m.Index
		}
		err := here.err
		if err == nil {
			err = b.store.check(m)
		}
		if err != nil {
			b.rs[i].Err = err
			continue
		}
		b.index[i] = here.index
		left = append(left, i)
	}
	return left
}
