// Package search keeps a search index in step with the items of a table.
//
// A document is a function of the item: [Sink] looks at the old and at the new
// image of a change, asks of each whether it belongs into the index and under
// which name, and puts, replaces or deletes accordingly. Every document carries
// the version of the change that wrote it, a delete leaves a tombstone with its
// version, and a [Store] refuses what is older than what it holds. So changes
// may be delivered again, late, by several workers, and the index ends as one
// clean pass would leave it.
//
// An image that no document can be made of, or whose document the store refuses for good,
// leaves none behind: what the item had goes, under a void tombstone, which the same version
// replaces when it is redriven under mended settings, and nothing else at that version.
//
// The package plans and knows no driver: a [Store] writes.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// Options describe one search sink.
type Options struct {
	Pipeline string                 // required: name of the pipeline, written into every document as _tw.by
	Birth    string                 // of the sink's output, written into every document as _tw.birth. Default: none
	Store    Store                  // required
	Index    *template.Template     // required: name of the index; a name that depends on the item moves its document when it changes
	When     pipeline.ItemCondition // which items have a document. Default: all
	Fields   Fields

	// HMACKey is the secret behind HashID and Fields.Hash: required by both. A hash is
	// the HMAC-SHA256 under it in hex, 64 digits.
	HMACKey []byte
	// HashID names documents by "hmac:" and the hash of "id:" and the canonical key, for
	// items whose keys are sensitive. Two items share an id with the chance of a
	// collision of SHA-256, which is none. Default: the key itself, see [DocumentID]
	HashID bool
	// Routing puts documents of one routing into one shard. It reads key attributes,
	// {@key} and {@table}, and nothing else: what may change would leave a document in
	// two shards. An item that it makes nothing of is routed by its id. With HashID a
	// routing is the hash of "routing:" and its text. Default: by id
	Routing *template.Template
	// Mask leaves hidden attributes out of documents, but for those that Fields.Hash
	// names, and masks them in names of indexes, in routings and in ids. Default: nothing is hidden
	Mask *mask.Mask

	Retention state.Retention // of what Store remembers: a change that is older is refused. Default: it forgets nothing
}

// Sink plans and writes the documents of one index template. It is safe for
// concurrent use.
type Sink struct {
	by      string
	birth   string
	store   Store
	index   *template.Template
	fixed   string                 // the name of the index, where it is the same for every item; else ""
	recent  template.Recent        // name of an index
	when    pipeline.ItemCondition // nil: every item
	fields  *field
	whole   bool       // fields take an item as it is
	drafts  sync.Pool  // of *[]byte, where documents are written before they are as long as they are
	hasher  *hasher    // nil where nothing is hashed
	hashID  bool       // document ids are hashes
	mask    *mask.Mask // of what is not hashed
	keyMask *mask.Mask

	routing   *template.Template // nil: by id
	routed    []string           // key attributes that it reads
	retention state.Retention

	mutations mutations
}

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.Requirer   = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
	_ pipeline.Guarded    = (*Sink)(nil)

	_ pipeline.EventIgnorer = (*Sink)(nil)
)

// New checks the options and makes a sink. The error names the option.
func New(o Options) (*Sink, error) {
	switch {
	case o.Pipeline == "":
		return nil, errors.New("search: Pipeline is empty: give the pipeline's name")
	case o.Store == nil:
		return nil, errors.New("search: Store is nil: give the store that holds the index")
	case o.Index == nil:
		return nil, errors.New("search: Index is nil: give the template of the index name")
	}
	if !o.Index.Stable() {
		return nil, fmt.Errorf("search: Index %q names an index by the change, so the next change could not find the document: name it by the item", o.Index)
	}
	routed, err := keysOf(o.Routing)
	if err != nil {
		return nil, fmt.Errorf("search: Routing %q: %w", o.Routing, err)
	}
	fields, err := compileFields(o.Fields)
	if err != nil {
		return nil, fmt.Errorf("search: Fields.%w", err)
	}
	mask, err := unhashed(o.Mask, o.Fields.Hash)
	if err != nil {
		return nil, fmt.Errorf("search: Fields.Hash: %w", err)
	}
	s := &Sink{by: o.Pipeline, birth: o.Birth, store: o.Store, index: o.Index, when: o.When, fields: fields, whole: fields.whole(), hashID: o.HashID, mask: mask, keyMask: o.Mask,
		routing: o.Routing, routed: routed, retention: o.Retention}
	if name, whole := o.Index.Prefix(); whole && CheckIndex(name) == nil {
		s.fixed = name
	}
	if o.HashID || len(o.Fields.Hash) > 0 {
		if len(o.HMACKey) == 0 {
			return nil, errors.New("search: HMACKey is empty: HashID and Fields.Hash need a secret, so that nobody can try values until their hash fits")
		}
		s.hasher = newHasher(o.HMACKey)
	}
	return s, nil
}

// Requires names the new image, which documents are made of; the old one too
// when the index name depends on the item, because a move must find the index
// that it leaves.
func (s *Sink) Requires() pipeline.Needs {
	return pipeline.Needs{New: true, Old: len(s.index.Paths()) > 0}
}

// KeepsKeyOrder is true: every mutation carries its version, and an older one loses.
func (s *Sink) KeepsKeyOrder() bool { return true }

// IgnoresEvents is true.
func (s *Sink) IgnoresEvents() bool { return true }

// Guarded is true: versions decide.
func (s *Sink) Guarded() bool { return true }

// Write applies the planned mutations. A change whose every mutation met a newer
// version is Superseded.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	s.retention.Refuse(ds, &failed)
	ms := s.mutations.get(len(ds))
	for i := range ds {
		for _, op := range ds[i].Ops {
			if m, ok := op.(*Mutation); ok {
				ms = append(ms, *m)
				ms[len(ms)-1].Birth = s.birth
			}
		}
	}
	rs, err := s.apply(ctx, ms)
	if err == nil {
		err = s.vacate(ctx, ms, rs)
	}
	s.mutations.put(ms)
	if err != nil {
		return err
	}
	for i := range ds {
		if len(ds[i].Ops) == 0 {
			continue // refused
		}
		var mine []Result
		mine, rs = rs[:len(ds[i].Ops)], rs[len(ds[i].Ops):]
		var err error
		ds[i].Outcome, err = merge(mine)
		failed.Add(i, cmp.Or(err, ds[i].Ops[0].(*Mutation).flaw))
	}
	return failed.OrNil()
}

func (s *Sink) apply(ctx context.Context, ms []Mutation) ([]Result, error) {
	rs, err := s.store.Apply(ctx, ms)
	if err == nil && len(rs) != len(ms) {
		err = pipeline.Fatal(errs.Errorf("search: the store answered %d of %d mutations", len(rs), len(ms)))
	}
	return rs, err
}

// vacate removes the stored documents whose replacements in ms the store refuses permanently, as
// one that does not fit into the mapping. The changes fail all the same.
func (s *Sink) vacate(ctx context.Context, ms []Mutation, rs []Result) error {
	var voids []Mutation
	var of []int
	for i := range ms {
		if !state.IsPermanent(rs[i].Err) || ms[i].Why != Stay {
			continue
		}
		m := ms[i]
		m.Tombstone, m.Void, m.Why = true, true, Leave
		m.Doc = s.appendTombstone(nil, m.Version, true)
		voids, of = append(voids, m), append(of, i)
	}
	if len(voids) == 0 {
		return nil
	}
	vs, err := s.apply(ctx, voids)
	for n := range vs {
		if err := vs[n].Err; err != nil && !state.IsPermanent(err) {
			rs[of[n]].Err = err // the change is tried again, and with it this
		}
	}
	return err
}

// merge is what became of a change as a whole: failed where one mutation failed,
// else the strongest of what its mutations came to.
func merge(rs []Result) (pipeline.Outcome, error) {
	var written, coalesced bool
	for _, r := range rs {
		if r.Err != nil {
			return pipeline.Written, r.Err
		}
		written = written || r.Outcome == pipeline.Written
		coalesced = coalesced || r.Outcome == pipeline.Coalesced
	}
	switch {
	case written:
		return pipeline.Written, nil
	case coalesced:
		return pipeline.Coalesced, nil
	}
	return pipeline.Superseded, nil
}
