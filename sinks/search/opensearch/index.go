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
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
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
	Attributes map[string]pipeline.Kind

	// Begun says that the pipeline's state knows what the sink wrote: a record of the sink that is
	// missing on the server is lost, and nothing is made. Default: it begins now
	Begun bool

	OnDemand bool // an index is made when its first document comes, else by Open; that of a template always is. Default: by Open
	Max      int  // that a template may make. Default: any number
}

// indexes is what a store knows of its indexes.
type indexes struct {
	Indexes
	blueprint *blueprint
	turn      chan struct{} // held by the one who makes an index

	mu        sync.Mutex
	known     map[string]bool // by name: those that are there
	fullUntil time.Time       // until when a name that is not there is refused without counting
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
	b, err := newBlueprint(o.Mapping, o.Fields, o.Attributes)
	if err != nil {
		return nil, fmt.Errorf("the mapping: %w", err)
	}
	o.Mapping, o.Attributes = slices.Clone(o.Mapping), maps.Clone(o.Attributes)
	return &indexes{Indexes: o, blueprint: b, turn: make(chan struct{}, 1), known: make(map[string]bool)}, nil
}

// owner is written into an index: which sink made it, behind which alias.
type owner struct {
	Pipeline string `json:"pipeline"`
	Sink     string `json:"sink"`
	Index    string `json:"index"`
}

func (x *indexes) owner(name string) owner { return owner{x.Pipeline, x.Sink, name} }

// one is the only name that there is; false where it differs from item to item.
func (x *indexes) one() (string, bool) { return x.Name.Prefix() }

func (x *indexes) knows(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known[name]
}

func (x *indexes) learn(name string, there bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if there {
		x.known[name] = true
	} else {
		delete(x.known, name)
	}
}

// writeIndex is the name to which the documents of an index are written: its alias. An
// index that is not there is made. The error is that of every mutation of the name.
func (s *Store) writeIndex(ctx context.Context, name string) (string, error) {
	x := s.indexes
	if x == nil || x.knows(name) {
		return name, nil
	}
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return "", pipeline.Transient(ctx.Err())
	}
	if x.knows(name) {
		return name, nil
	}
	if err := s.ensure(ctx, name); err != nil {
		return "", err
	}
	x.learn(name, true)
	return name, nil
}

// indexGone learns that there is no index behind name any more, and tells whether the
// store makes it again.
func (s *Store) indexGone(name string) bool {
	if s.indexes == nil {
		return false
	}
	s.indexes.learn(name, false)
	return true
}

// maxTries is how often an index is looked for that somebody else makes or deletes.
const maxTries = 3

// ensure makes the index of a name where it is missing, and checks that it is what it
// should be.
func (s *Store) ensure(ctx context.Context, name string) error {
	for range maxTries {
		there, err := s.look(ctx, name)
		if err != nil {
			return err
		}
		if there != nil {
			if err := s.same(name, there); err != nil {
				return err
			}
			return s.noteMade(ctx, name, there)
		}
		if made, err := s.wasMade(ctx, name); err != nil {
			return err
		} else if made { // by another process, since it was looked for, or it was deleted
			if there, err = s.look(ctx, name); err != nil {
				return err
			}
			if there == nil {
				return s.errDeleted(name)
			}
			continue
		}
		if err := s.reserve(ctx, name); err != nil {
			return err
		}
		made, err := s.make(ctx, name)
		if err != nil {
			return err
		}
		if !made {
			continue
		}
		if there, err = s.look(ctx, name); err != nil {
			return err
		}
		return s.noteMade(ctx, name, cmp.Or(there, &standing{}))
	}
	return pipeline.Transient(errs.Errorf("opensearch: index %s comes and goes", name))
}

// standing is an index as the server has it.
type standing struct {
	Aliases  map[string]alias           `json:"aliases"`
	Mappings map[string]json.RawMessage `json:"mappings"`
	Settings map[string]any             `json:"settings"` // by their whole names
}

// look is the index behind the alias name; nil where there is none. It is an error where
// the name is taken by what is not the sink's.
func (s *Store) look(ctx context.Context, name string) (*standing, error) {
	found, err := s.list(ctx, name, physical(name))
	if err != nil {
		return nil, err
	}
	if _, taken := found[name]; taken {
		return nil, s.foreign(errs.Errorf("opensearch: there is an index %s that this sink did not make, and what readers ask for must be an alias: give the sink another index name, or reindex it under another name and delete it", name))
	}
	if there, ok := found[physical(name)]; ok {
		return &there, nil
	}
	for other := range found {
		return nil, s.foreign(errs.Errorf("opensearch: there is an alias %s of index %s that this sink did not make: give the sink another index name, or remove the alias", name, other))
	}
	return nil, nil
}

// foreign is an error that stops a sink of one index, and fails the documents of the
// one index of a template.
func (s *Store) foreign(err error) error {
	if _, one := s.indexes.one(); one {
		return pipeline.Fatal(err)
	}
	return err
}

// list reads indexes by a pattern or by names. Where there are none it is empty.
func (s *Store) list(ctx context.Context, patterns ...string) (map[string]standing, error) {
	path := "/" + inPath(patterns) + "?flat_settings=true&ignore_unavailable=true&allow_no_indices=true&expand_wildcards=open,closed,hidden"
	return s.readIndexes(ctx, path, "look for an index", strings.Join(patterns, ","))
}

// readIndexes reads indexes at a path. Where there are none it is empty.
func (s *Store) readIndexes(ctx context.Context, path, op, names string) (map[string]standing, error) {
	a, err := s.client.do(ctx, http.MethodGet, path, nil)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound:
		return nil, nil
	case !a.ok():
		return nil, a.failure(op, names)
	}
	var found map[string]standing
	if err := json.Unmarshal(a.body, &found); err != nil {
		return nil, pipeline.Transient(errs.New("opensearch: the server's answer is no list of indexes: is a proxy in between?"))
	}
	return found, nil
}

// own are those of the indexes that the sink made, by the names of their aliases.
func (x *indexes) own(found map[string]standing) map[string]*standing {
	own := make(map[string]*standing)
	for at, there := range found {
		if by := there.owner(); by == x.owner(by.Index) && physical(by.Index) == at {
			own[by.Index] = &there
		}
	}
	return own
}

// inPath is names as a path has them. The comma stays as it is: a policy names the path by it.
func inPath(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(url.PathEscape(name))
	}
	return b.String()
}

// owner is who made the index; the zero owner where no sink did.
func (st *standing) owner() (o owner) {
	var meta struct {
		Tablewake owner `json:"tablewake"`
	}
	if json.Unmarshal(st.Mappings["_meta"], &meta) != nil {
		return owner{}
	}
	return meta.Tablewake
}

// same checks that the index behind name is this sink's, and what the file asks for.
func (s *Store) same(name string, there *standing) error {
	if by := there.owner(); by != s.indexes.owner(name) {
		foreign := &search.ForeignIndexError{By: search.Owner{Pipeline: s.indexes.Pipeline, Sink: s.indexes.Sink}, Index: name}
		if is := (search.Owner{Pipeline: by.Pipeline, Sink: by.Sink}); is != foreign.By {
			foreign.Owner = is
		}
		return s.foreign(foreign)
	}
	if a, ok := there.Aliases[name]; !ok || !a.hides() || !a.Writes {
		return s.foreign(errs.Errorf("opensearch: the alias %s of index %s is missing, has lost its filter, which hides what was deleted, or is no write index: put it back with the filter %s and is_write_index", name, physical(name), live))
	}
	is, err := there.leaves()
	if err != nil {
		return fmt.Errorf("opensearch: the mapping of index %s: %w", name, err)
	}
	if d := difference(s.indexes.blueprint.leaves, is); d != "" {
		return pipeline.Fatal(errDiffers(name, d))
	}
	return nil
}

// leaves are what the index is, by path.
func (st *standing) leaves() (map[string]string, error) {
	is := make(map[string]string)
	flattenSettings(is, "", st.Settings)
	mappings := make(map[string]any, len(st.Mappings))
	for part, raw := range st.Mappings {
		v, err := indexmap.Decode(raw)
		if err != nil {
			return nil, err
		}
		mappings[part] = v
	}
	flattenMapping(is, "mappings", mappings)
	return is, nil
}

// errDiffers says in what an index is not what the file asks for, and what to do.
func errDiffers(name, difference string) error {
	return errs.Errorf("opensearch: index %s is not what search.mapping asks for, and an index is never altered: %s; take it back in the file or, where the server allows it, in the index; else give the sink another index name and replay the history into it", name, difference)
}

// make makes the index of a name with its alias, in one step; false where somebody
// else just did.
func (s *Store) make(ctx context.Context, name string) (bool, error) {
	body, err := s.indexes.blueprint.body(s.indexes.owner(name))
	if err != nil {
		return false, fmt.Errorf("opensearch: %w", err)
	}
	a, err := s.client.do(ctx, http.MethodPut, "/"+url.PathEscape(physical(name)), body)
	switch {
	case err != nil:
		return false, err
	case a.ok():
		return true, nil
	case a.existed():
		return false, nil
	}
	f := parseFailure(a.body)
	f.status = a.status
	switch kind := string(f.kind); {
	case kind == "invalid_alias_name_exception" || kind == "invalid_index_name_exception":
		return false, s.foreign(a.failure("make an index", name))
	case f.full():
		return false, pipeline.Transient(&Error{Op: "make an index", Index: name, Status: a.status, Type: kind,
			Hint: "the cluster has as many shards as it may have: raise cluster.max_shards_per_node, or delete indexes"})
	case f.class() == refused:
		e := &Error{Op: "make an index", Index: name, Status: a.status, Type: kind, Field: f.field(), Hint: "the server does not take the settings or the mapping: correct search.mapping"}
		return false, pipeline.Fatal(e)
	}
	return false, a.failure("make an index", name)
}
