package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// Indexes are the indexes of one sink: what they are made of, and when.
type Indexes struct {
	Pipeline string // required: name of the pipeline
	Sink     string // required: name of the sink; an index belongs to the one that made it

	// Name is that of the sink: the aliases that applications read.
	Name *template.Template // required

	// Mapping is JSON of what an index is made of: {"settings": ..., "mappings": ...}, or
	// what stands in mappings alone. An index that is there already is compared with it, and
	// never altered. Default: the server's settings, and fields as they come.
	// Where it leaves it open, numbers are doubles (see [Indexes.Attributes]): an index that is
	// made has a rule for that, and one that is there already need not.
	Mapping json.RawMessage
	// Fields are those of the sink: what they write as scaled_float must be mapped so.
	Fields search.Fields
	// Attributes are the declared types of attributes. A number that Mapping does not map is a
	// double from the start, also where its first value is written as text. Default: none
	Attributes map[string]item.Kind

	// Begun says that the pipeline's state knows what the sink wrote: a record of the sink that is
	// missing on the server is lost, and nothing is made. Default: it begins now
	Begun bool

	OnDemand bool // an index is made when its first document comes, else by Open; that of a template always is. Default: by Open
	Max      int  // that a template may make. Default: any number
}

// indexes is what a store knows of its indexes.
type indexes struct {
	Indexes
	definition *definition
	turn       chan struct{} // held by the one who makes an index

	mu        sync.Mutex
	known     map[string]time.Time // by name: when the index was last found ready
	fullUntil time.Time            // until when a name that is not there is refused without counting
}

func newIndexes(o Indexes) (*indexes, error) {
	switch {
	case o.Pipeline == "":
		return nil, errors.New("Indexes.Pipeline is empty: give the pipeline's name")
	case o.Sink == "":
		return nil, errors.New("Indexes.Sink is empty: give the sink's name")
	case o.Name == nil:
		return nil, errors.New("Indexes.Name is nil: give the template of the index name")
	case o.Max < 0:
		return nil, errors.New("Indexes.Max is negative")
	}
	d, err := newDefinition(o.Mapping, o.Fields, o.Attributes)
	if err != nil {
		return nil, fmt.Errorf("the mapping: %w", err)
	}
	o.Mapping, o.Attributes = slices.Clone(o.Mapping), maps.Clone(o.Attributes)
	return &indexes{Indexes: o, definition: d, turn: make(chan struct{}, 1), known: make(map[string]time.Time)}, nil
}

// sink is the sink that makes the indexes.
func (x *indexes) sink() search.Owner { return search.Owner{Pipeline: x.Pipeline, Sink: x.Sink} }

// one returns the index name if all items have the same, else its fixed beginning and false.
func (x *indexes) one() (string, bool) { return x.Name.Prefix() }

// recheck is how long a process writes to an index before it asks again whether it is the one that was noted.
const recheck = 5 * time.Second

// foundReady returns when the index of a name was last found ready.
func (x *indexes) foundReady(name string) (at time.Time, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok = x.known[name]
	return at, ok
}

// setReady notes that the index of a name was found ready at a time.
func (x *indexes) setReady(name string, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known[name] = at
}

// forget makes the next write look for the index of a name.
func (x *indexes) forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.known, name)
}

// phase is where an index is in its life, as the record of its sink and the server show it:
//
//	absent    it was never made; make makes it with its alias, in one step
//	unnoted   it is there, and the record does not name it; note notes its UUID
//	ready     it is there, as it was noted
//	deleted   it was noted, and is not there
//	exchanged it was noted, and there is one with another UUID
//
// The last two are a [state.LostError], until Forget drops the record. An index that is there and is not
// what verify asks for is not used in any phase.
type phase uint8

const (
	absent phase = iota
	unnoted
	ready
	deleted
	exchanged
)

// phase is that of the index of a name; there is nil if the server has none.
func (r *indexRecord) phase(name string, there *indexState) phase {
	was, noted := r.Made[name]
	switch is := there.uuid(); {
	case there == nil && noted:
		return deleted
	case there == nil:
		return absent
	case !noted:
		return unnoted
	case was != "" && is != "" && is != was:
		return exchanged
	}
	return ready
}

// lost is the error of an index that is deleted or exchanged.
func (s *Store) lost(r *indexRecord, name string, there *indexState) error {
	switch r.phase(name, there) {
	case deleted:
		return state.NewLostError(s.sink(), fmt.Sprintf("index %s is missing, and it was made before: it was deleted", name))
	case exchanged:
		return state.NewLostError(s.sink(), fmt.Sprintf("index %s was made with the UUID %s, and there is one with the UUID %s: it was restored or made again", name, r.Made[name], there.uuid()))
	}
	return nil
}

// note notes an index that is there, as the one that it is; false if the record names it already.
func (r *indexRecord) note(name string, there *indexState) bool {
	if r.phase(name, there) != unnoted {
		return false
	}
	if r.Made == nil {
		r.Made = make(map[string]string)
	}
	r.Made[name] = there.uuid()
	return true
}

// ensureIndex makes the index of a name if it is absent. It checks the index at the first write, and again
// when recheck has passed, because somebody may exchange it. The error is that of every mutation of the name.
func (s *Store) ensureIndex(ctx context.Context, name string) error {
	x := s.indexes
	if x == nil || s.isReady(name) {
		return nil
	}
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return pipeline.Transient(ctx.Err())
	}
	if s.isReady(name) {
		return nil
	}
	now := s.clock()
	last, again := x.foundReady(name)
	var err error
	if again {
		err = s.confirm(ctx, now)
	}
	if err == nil && !s.isReady(name) {
		if err = s.advance(ctx, name); err == nil {
			x.setReady(name, now)
		}
	}
	if err == nil {
		return nil
	}
	if _, transient := pipeline.Retryable(err); !again || transient || pipeline.IsDenied(err) {
		return err
	}
	return pipeline.Fatal(errs.Errorf("opensearch: index %s belonged to the sink at %s, and does not now; mend this, then replay the changes since then: %w",
		name, last.UTC().Format(time.RFC3339), err))
}

// confirm notes as ready, with two requests, all indexes of the sink that still are: a template may have made many.
func (s *Store) confirm(ctx context.Context, now time.Time) error {
	r, _, _, err := s.record(ctx, s.indexes.sink())
	if err != nil {
		return err
	}
	there, err := s.mine(ctx)
	if err != nil {
		return err
	}
	for name, index := range there {
		if r.phase(name, index) == ready && s.verify(name, index) == nil {
			s.indexes.setReady(name, now)
		}
	}
	return nil
}

// isReady reports whether the index of a name was found ready a short time ago.
func (s *Store) isReady(name string) bool {
	at, ok := s.indexes.foundReady(name)
	return ok && s.clock().Sub(at) < recheck
}

// maxTries is how often an index is looked for that somebody else makes or deletes.
const maxTries = 3

// advance takes the index of a name to the phase ready.
func (s *Store) advance(ctx context.Context, name string) error {
	for range maxTries {
		r, _, _, err := s.record(ctx, s.indexes.sink()) // first: what is made meanwhile is not in it
		if err != nil {
			return err
		}
		there, err := s.findIndex(ctx, name)
		if err != nil {
			return err
		}
		if there != nil {
			if err := s.verify(name, there); err != nil {
				return err
			}
		}
		switch r.phase(name, there) {
		case ready:
			return nil
		case unnoted:
			return s.note(ctx, name, there)
		case deleted, exchanged:
			return s.lost(&r, name, there)
		}
		if err := s.reserve(ctx, name); err != nil {
			return err
		}
		made, err := s.make(ctx, name)
		if err != nil {
			return err
		}
		if made {
			if there, err = s.findIndex(ctx, name); err != nil {
				return err
			}
			return s.note(ctx, name, cmp.Or(there, &indexState{}))
		}
	}
	return pipeline.Transient(errs.Errorf("opensearch: index %s comes and goes", name))
}

// note notes that an index was made, as the one that it is.
func (s *Store) note(ctx context.Context, name string, there *indexState) error {
	return s.amend(ctx, s.indexes.sink(), func(r *indexRecord, _ bool) (bool, error) {
		return r.note(name, there), s.lost(r, name, there)
	})
}

// foreign is an error that stops a sink of one index, and fails the documents of the
// one index of a template.
func (s *Store) foreign(err error) error {
	if _, one := s.indexes.one(); one {
		return pipeline.Fatal(err)
	}
	return err
}

// verify checks that the index behind name is this sink's, and what the file asks for.
func (s *Store) verify(name string, there *indexState) error {
	sink := s.indexes.sink()
	if by := there.owner(); by != (owner{sink.Pipeline, sink.Sink, name}) {
		foreign := &search.ForeignIndexError{By: sink, Index: name}
		if is := (search.Owner{Pipeline: by.Pipeline, Sink: by.Sink}); is != sink {
			foreign.Owner = is
		}
		return s.foreign(foreign)
	}
	if a, ok := there.Aliases[name]; !ok || !a.hides() || !a.Writes {
		return s.foreign(errs.Errorf("opensearch: the alias %s of index %s is missing, has lost its filter, which hides what was deleted, or is no write index: put it back with the filter %s and is_write_index", name, physical(name), live))
	}
	is, err := there.settingsByPath()
	if err != nil {
		return fmt.Errorf("opensearch: the mapping of index %s: %w", name, err)
	}
	if d := difference(s.indexes.definition.settingsByPath, is); d != "" {
		return pipeline.Fatal(errDiffers(name, d))
	}
	return nil
}

// errDiffers says in what an index is not what the file asks for, and what to do.
func errDiffers(name, difference string) error {
	return errs.Errorf("opensearch: index %s is not what search.mapping asks for, and an index is never altered: %s; take it back in the file or, where the server allows it, in the index; else give the sink another index name and replay the history into it", name, difference)
}

// make makes the index of a name with its alias, in one step; false where somebody
// else just did.
func (s *Store) make(ctx context.Context, name string) (bool, error) {
	body, err := s.indexes.definition.body(owner{s.indexes.Pipeline, s.indexes.Sink, name})
	if err != nil {
		return false, fmt.Errorf("opensearch: %w", err)
	}
	a, err := s.client.do(ctx, http.MethodPut, "/"+url.PathEscape(physical(name)), body)
	if err != nil || a.ok() {
		return err == nil, err
	}
	const op = "make an index"
	e := &Error{Op: op, Index: name, Status: a.status}
	f := a.parse()
	switch e.Type = string(f.kind); {
	case f.existed():
		return false, nil
	case f.is("invalid_alias_name_exception", "invalid_index_name_exception"):
		return false, s.foreign(a.failure(op, name))
	case f.full():
		e.Hint = "the cluster has as many shards as it may have: raise cluster.max_shards_per_node, or delete indexes"
		return false, pipeline.Transient(e)
	case f.class() == refused:
		e.Field, e.Hint = f.field(), "the server does not take the settings or the mapping: correct search.mapping"
		return false, pipeline.Fatal(e)
	}
	return false, a.failure(op, name)
}
