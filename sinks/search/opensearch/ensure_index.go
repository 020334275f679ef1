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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// Indexes defines the indexes of one sink.
type Indexes struct {
	Pipeline string // required: name of the pipeline
	// Sink is the name of the sink. Required. An index belongs to the sink that created it
	Sink string

	// Name is the template of the sink's index names. Applications read the indexes by these names, which are aliases.
	Name *template.Template // required

	// Mapping is the JSON body of a new index: {"settings": ..., "mappings": ...}, or the content of mappings alone. An
	// existing index is compared with Mapping, and never altered. Default: the server's settings and dynamic mapping. A
	// new index also gets a rule that maps the numbers that Mapping does not map to doubles (see [Indexes].Attributes).
	// An existing index need not have that rule.
	Mapping json.RawMessage
	// Fields are the fields of the sink. If the sink writes a field as scaled_float, Mapping must map the field as
	// scaled_float.
	Fields search.Fields
	// Attributes are the declared types of attributes. A declared number that Mapping does not map is a
	// double from the start, even if its first value is written as text. Default: none
	Attributes map[string]item.Kind

	// WroteDocuments means that the sink has written documents before, according to the pipeline's state. If
	// WroteDocuments is set and the server has no record of the sink, Open returns an error and creates no index.
	// Default: the sink begins now
	WroteDocuments bool

	// OnDemand means that the first document of an index creates the index. If Name is not constant, this is always so.
	// Default: Open creates the index
	OnDemand   bool
	MaxIndexes int // maximum number of indexes that a template may create. Default: no limit
}

// indexes holds the state of a store's indexes in memory.
type indexes struct {
	Indexes
	definition *definition
	creating   chan struct{} // full while a caller looks for or creates an index

	// readyAt maps the name of an index to the time at which the index was last found ready
	readyAt sync.Map
	// fullUntil is a Unix time in nanoseconds. Until that time a missing index is refused without counting the indexes
	fullUntil atomic.Int64
}

func newIndexes(o Indexes) (*indexes, error) {
	switch {
	case o.Pipeline == "":
		return nil, errors.New("Indexes.Pipeline is empty: give the pipeline's name")
	case o.Sink == "":
		return nil, errors.New("Indexes.Sink is empty: give the sink's name")
	case o.Name == nil:
		return nil, errors.New("Indexes.Name is nil: give the template of the index name")
	case o.MaxIndexes < 0:
		return nil, errors.New("Indexes.MaxIndexes is negative")
	}
	d, err := parseDefinition(o.Mapping, o.Fields, o.Attributes)
	if err != nil {
		return nil, fmt.Errorf("the mapping: %w", err)
	}
	o.Mapping, o.Attributes = slices.Clone(o.Mapping), maps.Clone(o.Attributes)
	return &indexes{Indexes: o, definition: d, creating: make(chan struct{}, 1)}, nil
}

// owner returns the owner of the indexes.
func (x *indexes) owner() search.Owner { return search.Owner{Pipeline: x.Pipeline, Sink: x.Sink} }

// singleName returns the name of the index and true if all items go to one index. Otherwise it returns the constant
// prefix of the names, and false.
func (x *indexes) singleName() (string, bool) { return x.Name.Prefix() }

// canHaveName reports whether the template of the index names can give a name.
func (x *indexes) canHaveName(name string) bool {
	prefix, isSingle := x.singleName()
	if isSingle {
		return name == prefix
	}
	return strings.HasPrefix(name, prefix)
}

// recheckInterval is the time between two checks that an index was not replaced by another index.
const recheckInterval = 5 * time.Second

// lastReady returns when the index of a name was last found ready. ok is false if it never was.
func (x *indexes) lastReady(name string) (at time.Time, ok bool) {
	v, ok := x.readyAt.Load(name)
	at, _ = v.(time.Time)
	return at, ok
}

// phase is the state of an index, according to the record of its sink and the server:
//
//	absent     it was never created; createIndex creates it with its alias, in one step
//	unrecorded it exists, and the record does not name it; recordUUID records its UUID
//	ready      it exists with the recorded UUID
//	deleted    the record names it, and it does not exist
//	exchanged  the record names it, and it exists with another UUID
//
// In the phases deleted and exchanged, the store returns a [state.LostError] until Forget drops the record. An existing
// index that verifyIndex refuses is not used in any phase.
type phase uint8

const (
	absent phase = iota
	unrecorded
	ready
	deleted
	exchanged
)

// phase returns the phase of the index of a name. existing is the state of the index on the server, or nil if the
// server has no such index.
func (r *sinkRecord) phase(name string, existing *indexState) phase {
	recorded, isRecorded := r.UUIDs[name]
	if existing == nil {
		if isRecorded {
			return deleted
		}
		return absent
	}
	if !isRecorded {
		return unrecorded
	}

	actual := existing.uuid()
	areKnown := recorded != "" && actual != ""
	if areKnown && actual != recorded {
		return exchanged
	}
	return ready
}

// lostError returns the error of an index that is deleted or exchanged, else nil. Before it says that an index is
// deleted, it asks the server for the index, and may return the error of that request.
func (s *Store) lostError(ctx context.Context, r *sinkRecord, name string, existing *indexState) error {
	switch r.phase(name, existing) {
	case deleted:
		if err := s.confirmDeleted(ctx, name); err != nil {
			return err
		}
		return state.NewLostError(s.sinkName(), fmt.Sprintf("index %s is missing, and it was made before: it was deleted", name))
	case exchanged:
		return state.NewLostError(s.sinkName(), fmt.Sprintf(
			"index %s was made with the UUID %s, and there is one with the UUID %s: it was restored or made again", name,
			r.UUIDs[name], existing.uuid()))
	}
	return nil
}

// confirmDeleted returns nil if the server says that it has no index of this name, or that something else has the name.
// A list without the index, which a proxy's answer {} is too, does not say that.
func (s *Store) confirmDeleted(ctx context.Context, name string) error {
	physical := physicalName(name)
	found, err := s.readIndexes(ctx, call{op: "look for an index", index: physical, path: pathIn(physical, "")})
	if err != nil {
		return err
	}
	if found == nil { // the server says that it has no index of this name
		return nil
	}
	isOwn := len(s.indexes.selectOwn(found)) > 0
	if len(found) == 0 || isOwn {
		return pipeline.Transient(errs.Errorf(
			"opensearch: the server listed no index %s, and then answered otherwise: is a proxy in between?", name))
	}
	return nil // an index that the sink did not create, or an alias of the name
}

// noteUUID records the UUID of an existing index. It returns false if the index does not exist or the record already
// names it.
func (r *sinkRecord) noteUUID(name string, existing *indexState) bool {
	if r.phase(name, existing) != unrecorded {
		return false
	}
	if r.UUIDs == nil {
		r.UUIDs = make(map[string]string)
	}
	r.UUIDs[name] = existing.uuid()
	return true
}

// ensureIndex creates the index of a name if it is absent. It checks the index at the first write, and again after
// recheckInterval, because somebody may delete or replace the index. An error applies to every mutation of that index.
func (s *Store) ensureIndex(ctx context.Context, name string) error {
	x := s.indexes
	if x == nil || s.isReady(name) {
		return nil
	}

	select {
	case x.creating <- struct{}{}:
		defer func() { <-x.creating }()
	case <-ctx.Done():
		return pipeline.Transient(ctx.Err())
	}
	if s.isReady(name) { // another caller found it
		return nil
	}

	last, wasReady := x.lastReady(name)
	err := s.findReady(ctx, name)
	if err != nil && wasReady {
		return notReadyAnyMore(name, last, err)
	}
	return err
}

// notReadyAnyMore returns the error of an index that was found ready before, at last. It makes err fatal, unless the
// index may still be ready.
func notReadyAnyMore(name string, last time.Time, err error) error {
	if _, isTransient := pipeline.Retryable(err); isTransient || pipeline.IsDenied(err) {
		return err
	}
	return pipeline.Fatal(
		errs.Errorf(
			"opensearch: index %s belonged to the sink at %s, and does not now; fix this, then replay the changes since then: %w",
			name, last.UTC().Format(time.RFC3339), err))
}

// findReady checks that an index is still ready if it was ready before. Otherwise it brings the index to the phase
// ready.
func (s *Store) findReady(ctx context.Context, name string) error {
	now := s.clock()
	if _, wasReady := s.indexes.lastReady(name); wasReady {
		if err := s.confirmIndexes(ctx, now); err != nil {
			return err
		}
		if s.isReady(name) { // confirmIndexes found it unchanged
			return nil
		}
	}
	if err := s.makeReady(ctx, name); err != nil {
		return err
	}
	s.indexes.readyAt.Store(name, now)
	return nil
}

// confirmIndexes marks all unchanged indexes of the sink as ready. It needs only two requests, however many indexes the
// template has.
func (s *Store) confirmIndexes(ctx context.Context, now time.Time) error {
	r, err := s.readRecord(ctx, s.indexes.owner())
	if err != nil {
		return err
	}
	existing, err := s.findOwnIndexes(ctx)
	if err != nil {
		return err
	}

	for name, index := range existing {
		if r.phase(name, index) == ready && s.verifyIndex(name, index) == nil {
			s.indexes.readyAt.Store(name, now)
		}
	}
	return nil
}

// isReady reports whether the index of a name was found ready less than recheckInterval ago.
func (s *Store) isReady(name string) bool {
	at, ok := s.indexes.lastReady(name)
	return ok && s.clock().Sub(at) < recheckInterval
}

// maxTries is the maximum number of tries of makeReady. A try fails if another process creates the index at the same
// time.
const maxTries = 3

// makeReady brings the index of a name to the phase ready, or returns an error.
func (s *Store) makeReady(ctx context.Context, name string) error {
	for range maxTries {
		// The record is read before the server is asked for the index. So every index in the record existed when the
		// server was asked.
		r, err := s.readRecord(ctx, s.indexes.owner())
		if err != nil {
			return err
		}
		existing, err := s.findIndex(ctx, name)
		if err != nil {
			return err
		}
		if existing != nil {
			if err := s.verifyIndex(name, existing); err != nil {
				return err
			}
		}

		switch r.phase(name, existing) {
		case ready:
			return nil
		case unrecorded:
			return s.recordUUID(ctx, name, existing)
		case deleted, exchanged:
			return s.lostError(ctx, &r.sinkRecord, name, existing)
		case absent:
			if created, err := s.createRecorded(ctx, name); err != nil || created {
				return err
			}
		}
	}
	return pipeline.Transient(errs.Errorf("opensearch: index %s comes and goes", name))
}

// createRecorded creates an index and records its UUID. It returns false if another process just created the index.
func (s *Store) createRecorded(ctx context.Context, name string) (created bool, err error) {
	if err := s.reserveIndex(ctx, name); err != nil {
		return false, err
	}
	if created, err := s.createIndex(ctx, name); err != nil || !created {
		return false, err
	}

	index, err := s.findIndex(ctx, name)
	if err != nil {
		return true, err
	}
	return true, s.recordUUID(ctx, name, cmp.Or(index, &indexState{}))
}

// recordUUID records the UUID of an index in the sink's record.
func (s *Store) recordUUID(ctx context.Context, name string, existing *indexState) error {
	return s.changeRecord(ctx, s.indexes.owner(), func(r *storedRecord) (changed bool, err error) {
		changed = r.noteUUID(name, existing)
		return changed, s.lostError(ctx, &r.sinkRecord, name, existing)
	})
}

// scopeError makes an error fatal if the sink has one index. For a template the error stays permanent, so that only the
// documents of one index fail.
func (s *Store) scopeError(err error) error {
	if _, isSingle := s.indexes.singleName(); isSingle {
		return pipeline.Fatal(err)
	}
	return err
}

// verifyIndex checks that an index belongs to this sink and matches the configuration.
func (s *Store) verifyIndex(name string, existing *indexState) error {
	if err := s.verifyOwner(name, existing.creator()); err != nil {
		return s.scopeError(err)
	}

	named, hasAlias := existing.Aliases[name]
	if !hasAlias || !named.hidesTombstones() || !named.Writes {
		return s.scopeError(
			errs.Errorf(
				"opensearch: the alias %s of index %s is missing, has lost its filter, which hides what was deleted, or is no write index: put it back with the filter %s and is_write_index", name, physicalName(name), liveFilter))
	}

	actual, err := existing.settingsByPath()
	if err != nil {
		return fmt.Errorf("opensearch: the mapping of index %s: %w", name, err)
	}
	difference := definitionDifference(s.indexes.definition.settingsByPath, actual)
	if difference != "" {
		return pipeline.Fatal(indexDiffersError(name, difference))
	}
	return nil
}

// verifyOwner returns a [search.ForeignIndexError] unless this sink created the index for the alias name.
func (s *Store) verifyOwner(name string, madeBy creator) error {
	sink := s.indexes.owner()
	if madeBy == (creator{sink.Pipeline, sink.Sink, name}) {
		return nil
	}
	foreign := &search.ForeignIndexError{Writer: sink, Index: name}
	if other := (search.Owner{Pipeline: madeBy.Pipeline, Sink: madeBy.Sink}); other != sink {
		foreign.Owner = other
	}
	return foreign
}

// indexDiffersError returns the error of an index that does not match the configuration.
func indexDiffersError(name, difference string) error {
	return errs.Errorf(
		"opensearch: index %s is not what search.mapping asks for, and an index is never altered: %s; take it back in the file or, where the server allows it, in the index; else give the sink another index name and replay the history into it", name, difference)
}

// createIndex creates the index of a name with its alias, in one step. It returns false if the index exists already,
// because another process just created it.
func (s *Store) createIndex(ctx context.Context, name string) (bool, error) {
	body, err := s.indexes.definition.body(creator{s.indexes.Pipeline, s.indexes.Sink, name})
	if err != nil {
		return false, fmt.Errorf("opensearch: %w", err)
	}
	a, err := s.client.do(ctx, http.MethodPut, "/"+url.PathEscape(physicalName(name)), body)
	if err != nil {
		return false, err
	}
	if a.succeeded() {
		return true, nil
	}
	const op = "make an index"
	f := a.parse()
	e := &Error{Op: op, Index: name, Status: a.status, Type: string(f.kind)}
	switch {
	case f.alreadyExists():
		return false, nil
	case f.hasType("invalid_alias_name_exception", "invalid_index_name_exception"):
		return false, s.scopeError(a.asError(op, name))
	case f.noRoomForShards():
		e.Hint = "the cluster has as many shards as it may have: raise cluster.max_shards_per_node, or delete indexes"
		return false, pipeline.Transient(e)
	case f.classify() == badMapping:
		e.Field = f.field()
		e.Hint = "the server does not take the settings or the mapping: correct search.mapping"
		return false, pipeline.Fatal(e)
	}
	return false, a.asError(op, name)
}
