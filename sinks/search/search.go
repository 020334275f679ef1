// Package search keeps a search index in step with the items of a table.
//
// A document is a function of the item. [Sink.Plan] locates the document of the old and of the new image of a change
// (locateDocument) and makes the new document (appendDocument). It adds a [Mutation] for each document to put or
// delete. [Sink.Write] passes the mutations of a batch to a [Store]. Every document has the version of the change that
// wrote it. A delete leaves a tombstone with the version of the delete. The store refuses a mutation that is older than
// the stored version. So changes may be delivered again, late, or by several consumers, and the index ends as if each
// change had been delivered once, in order.
//
// If no document can be made of an image, or the store refuses the document permanently, a void tombstone replaces the
// item's document. A void tombstone gives way to a mutation of the same version that is not void. So a redrive of the
// change puts the document, after an operator has corrected the settings.
//
// With Options.ForEach an item has a document for each element of a list, a set or a map. See element_documents.go.
//
// This package plans and knows no driver. The stores are in opensearch and sqlite. Read search.go, document_plan.go and
// store.go first, then document_encoding.go and document_fields.go.
package search

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("search")

// Options describe one search sink.
type Options struct {
	Pipeline string // required: name of the pipeline, written into every document as _tw.by
	// Birth is the random id of the sink's output, written into every document as _tw.birth. Default: none
	Birth string
	Store Store // required
	// Index is the template of the index name. Required. If the name depends on the item, a change may move the
	// document to another index
	Index  *template.Template
	When   pipeline.ItemCondition // selects the items that have a document. Default: all
	Fields Fields

	// ForEach selects the elements of an item that get a document each. In the document of an element, the element
	// replaces the list, set or map that contains it. When may be a [pipeline.ElementCondition]. Index and Routing read
	// the item, not the element. Default: one document for each item
	ForEach *elements.Spec

	// HMACKey is the secret of HashID and Fields.Hash. Each of them requires it. A hash is the HMAC-SHA256 with this
	// key, as 64 hex digits.
	HMACKey []byte
	// HashID is for items whose keys are sensitive. A document id is then "hmac:" and the hash of "id:" and the
	// canonical key. Default: the id is the key itself, see [DocumentID]
	HashID bool
	// Routing places documents with equal routing in one shard. It may read only key attributes, {@key} and {@table},
	// because a routing that changes would leave a document in two shards. A document is routed by its id if the
	// template gives no text. With HashID the routing is the hash of "routing:" and its text. Default: by id
	Routing *template.Template
	// Mask removes hidden attributes from documents, except those in Fields.Hash, and masks them in
	// names of indexes, routings and ids. Default: nothing is hidden
	Mask *mask.Mask

	Retention state.Retention // refuses a change if Store may have forgotten a newer one. Default: refuses nothing

	// NoTTLDeletes means that a filter drops TTL deletes before the sink. The sink then does not see that an item
	// expired. So the index may still have the document of an expired item when an item with the same key is inserted.
	// The sink then replaces or removes that document. Default: the sink receives all deletes
	NoTTLDeletes bool
}

// Sink plans and writes the documents of one index template. It is safe for
// concurrent use.
type Sink struct {
	o            Options
	fixedIndex   string                 // name of the index if it is the same for all items; else ""
	checkedNames template.Recent        // names of indexes that CheckIndex accepted
	when         pipeline.ItemCondition // nil matches every item
	elementPath  []string               // the names of o.ForEach.Path

	unlimitedForEach elements.Spec             // o.ForEach without a maximum
	whenElement      pipeline.ElementCondition // nil matches every element. At most one of when and whenElement is set
	fields           *field
	copiesItem       bool // documents have all attributes unchanged
	// draftPool has buffers (*[]byte) for documents whose length is not known yet
	draftPool    sync.Pool
	hasher       *hasher    // nil if nothing is hashed
	documentMask *mask.Mask // o.Mask without the attributes that are hashed
	routingKeys  []string   // key attributes that o.Routing reads
	mutationPool mutationPool
}

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.Requirer   = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
	_ pipeline.Guarded    = (*Sink)(nil)

	_ pipeline.EventIgnorer = (*Sink)(nil)
)

// New checks the options and returns a sink. The error names the option.
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
		return nil, fmt.Errorf(
			"search: Index %q names an index by the change, so the next change could not find the document: name it by the item",
			o.Index)
	}
	routed, err := routingKeys(o.Routing)
	if err != nil {
		return nil, fmt.Errorf("search: Routing %q: %w", o.Routing, err)
	}
	fields, err := compileFields(o.Fields)
	if err != nil {
		return nil, fmt.Errorf("search: Fields.%w", err)
	}
	mask, err := withoutHashed(o.Mask, o.Fields.Hash)
	if err != nil {
		return nil, fmt.Errorf("search: Fields.Hash: %w", err)
	}

	s := &Sink{o: o, when: o.When, fields: fields, documentMask: mask, routingKeys: routed}
	// inner always has the reserved attribute. If it has only that one, no attribute of a document has settings.
	s.copiesItem = fields.include && len(fields.inner) == 1 && len(fields.renamed) == 0
	if err := s.checkForEach(); err != nil {
		return nil, fmt.Errorf("search: ForEach: %w", err)
	}
	if name, whole := o.Index.Prefix(); whole && CheckIndex(name) == nil {
		s.fixedIndex = name
	}

	if o.HashID || len(o.Fields.Hash) > 0 {
		if len(o.HMACKey) == 0 {
			return nil, errors.New(
				"search: HMACKey is empty: HashID and Fields.Hash need a secret, so that nobody can try values until their hash fits")
		}
		key := slices.Clone(o.HMACKey)
		s.hasher = &hasher{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
	}
	return s, nil
}

// Requires returns the new image, since documents are made of it. It includes the old image if the index name depends
// on the item, because a move must find the old index. It also includes the old image with ForEach, because only the
// old image shows which elements left.
func (s *Sink) Requires() pipeline.Needs {
	return pipeline.Needs{New: true, Old: s.indexDependsOnItem() || s.o.ForEach != nil}
}

// indexDependsOnItem reports whether the name of the index has values of the item.
func (s *Sink) indexDependsOnItem() bool { return len(s.o.Index.Paths()) > 0 }

// KeepsKeyOrder returns true: the store orders mutations by their versions.
func (s *Sink) KeepsKeyOrder() bool { return true }

// IgnoresEvents returns true, because documents do not depend on detected events.
func (s *Sink) IgnoresEvents() bool { return true }

// Guarded returns true: the store refuses older versions.
func (s *Sink) Guarded() bool { return true }

// Write applies the planned mutations. A change is Superseded if the store has a newer version for each of its
// mutations.
func (s *Sink) Write(ctx context.Context, deliveries []pipeline.Delivery) error {
	var failed pipeline.BatchError
	s.o.Retention.Refuse(deliveries, &failed)

	mutations := s.mutationPool.get(len(deliveries))
	for i := range deliveries {
		for _, op := range deliveries[i].Ops { // Plan adds mutations only
			mutations = append(mutations, *op.(*Mutation))
			mutations[len(mutations)-1].Birth = s.o.Birth
		}
	}
	results, err := s.apply(ctx, mutations)
	if err == nil {
		err = s.removeRefused(ctx, mutations, results)
	}
	s.mutationPool.put(mutations)
	if err != nil {
		return err
	}

	for i := range deliveries { // the results are in the order of the deliveries and their mutations
		ops := deliveries[i].Ops
		if len(ops) == 0 {
			continue // refused
		}
		outcome, err := merge(results[:len(ops)])
		results = results[len(ops):]
		deliveries[i].Outcome = outcome
		failed.Add(i, cmp.Or(err, ops[0].(*Mutation).changeErr))
	}
	return failed.OrNil()
}

// apply passes the mutations to the store.
func (s *Sink) apply(ctx context.Context, mutations []Mutation) ([]Result, error) {
	results, err := s.o.Store.Apply(ctx, mutations)
	if err == nil && len(results) != len(mutations) {
		err = pipeline.Fatal(errs.Errorf("search: the store answered %d of %d mutations", len(results), len(mutations)))
	}
	return results, err
}

// removeRefused puts a void tombstone in place of a stored document if the store permanently refused the document that
// should replace it, for example because that one does not fit the mapping. The change fails nevertheless.
func (s *Sink) removeRefused(ctx context.Context, mutations []Mutation, results []Result) error {
	var voids []Mutation
	var refused []int // for each void, the index of the refused mutation
	for i := range mutations {
		if !state.IsPermanent(results[i].Err) || !mutations[i].mayReplaceDocument() {
			continue
		}
		void := mutations[i]
		void.Tombstone, void.Void, void.Why = true, true, Leave
		void.Doc = s.appendTombstone(nil, void.Version, voidTombstone)
		voids = append(voids, void)
		refused = append(refused, i)
	}
	if len(voids) == 0 {
		return nil
	}

	voidResults, err := s.apply(ctx, voids)
	for n := range voidResults {
		// If the void is refused permanently too, the change keeps the error of its own mutation.
		if err := voidResults[n].Err; err != nil && !state.IsPermanent(err) {
			results[refused[n]].Err = err // the change is retried, and its tombstone with it
		}
	}
	return err
}

// mayReplaceDocument reports whether a document may be stored where m writes: the document of the item's old image, or
// of an expired item with the same key.
func (m *Mutation) mayReplaceDocument() bool { return m.Why == Stay || m.mayReplaceExpired }

// merge returns the outcome of a change from the results of its mutations. It returns an error if one mutation failed.
// Otherwise the outcome is Written if one mutation was written, else Coalesced if one was coalesced, else Superseded.
func merge(results []Result) (pipeline.Outcome, error) {
	var written, coalesced bool
	for _, r := range results {
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
