package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Sink plans and writes one view. It is safe for concurrent use. Its only state is pooled memory and a lock, so each
// consumer may have a Sink of its own.
type Sink struct {
	base
	attributes []Attribute
	forEach    *elements.Spec // nil if an item has one row
	copier     *copier        // nil if the rows are made of attributes
	collision  Collision
	backfill   bool // changes whose claims wait are not dead-lettered
	store      Store

	guardMode      GuardMode
	guardModeFixed bool // guardMode applies to every item
	// If guardModeFixed is false, guardMode applies only to items whose key attributes are all in escapedKeys.
	escapedKeys []string
	shards      int         // number of shards for {@shard} in the partition key; 0 if it has no {@shard}
	fixedKey    bool        // the row key reads no attributes, so the row of an item never moves
	keyPaths    []item.Path // attributes that the row key reads

	keyBuffers keyBufferPool
	batchPool  batchPool[*Op]
	// A Write of claims holds claimMu shared. After such a Write lost a round, it holds claimMu exclusively.
	claimMu sync.RWMutex
}

var (
	_ pipeline.Sink     = (*Sink)(nil)
	_ pipeline.Planner  = (*Sink)(nil)
	_ pipeline.Requirer = (*Sink)(nil)
)

// New returns the sink of a view. The error names the wrong option.
func New(o Options) (*Sink, error) {
	s, err := newSink(o)
	if err != nil {
		return nil, fmt.Errorf("view %q: %w", o.Name, err)
	}
	return s, nil
}

func newSink(o Options) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	keyPaths, err := o.keyPaths()
	if err != nil {
		return nil, err
	}
	s := &Sink{
		base: base{
			target: Target{Table: Table{Name: o.Table, PK: o.PK.Name, SK: o.SK.Name}, View: o.Name, Pipeline: o.Pipeline,
				InPlace: o.InPlace, Birth: o.Birth},
			pk: o.PK, sk: o.SK, when: o.When, mask: o.Mask, masksKey: masksKey(o.Mask, o.forEachPath(), o.PK, o.SK),
			retention: o.Retention, noTTLDeletes: o.NoTTLDeletes, readsItem: o.readsItem(),
		},
		attributes: slices.Clone(o.Attributes), forEach: o.ForEach, copier: newCopier(o),
		collision: cmp.Or(o.Collision, DeadLetterCollision), backfill: o.Backfill, store: o.Store, shards: o.Shards,
		fixedKey: len(keyPaths) == 0, keyPaths: keyPaths,
	}

	s.guardMode, s.escapedKeys = o.guardMode()
	s.guardModeFixed = s.escapedKeys == nil
	s.target.RefuseOtherItem = s.guardMode == uniqueByNames
	if o.ForEach != nil {
		if err := o.checkForEach(s.guardMode); err != nil {
			return nil, err
		}
		s.guardMode, s.guardModeFixed = rowsOfElements, true
	}

	needsItemStore := s.guardMode.ByItem && s.forEach == nil && s.store != nil
	if _, ok := s.store.(ItemStore); needsItemStore && !ok {
		return nil, fmt.Errorf("Store is a %T, which does not implement ItemStore: its rows are guarded by item, because %s",
			o.Store, s.guardMode.Why)
	}
	return s, nil
}

// Write applies the planned ops. The outcome of a change is:
//
//   - Written, if at least one of its ops was applied;
//   - Coalesced, if later changes of the batch wrote all its rows;
//   - Superseded, if newer versions are stored;
//   - NoEffect, for rows guarded by item, if the item claims no row and has none, or if its claim waits. With
//     [DeadLetterCollision], a change whose claim waits fails with a [CollisionError] instead, except in a backfill.
//   - NoEffect, with ForEach, if the item has no rows and had none.
//
// With [Options.Unique], a change also fails with a [CollisionError] if another item has its row.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if s.store == nil {
		return pipeline.Fatal(errs.Errorf("view %s has no store: it was made to plan only", redact.Safe(s.target.View)))
	}
	var failed pipeline.BatchError
	s.retention.Refuse(ds, &failed)

	err := s.writeRows(ctx, ds, &failed)
	if err == nil {
		err = s.writeClaims(ctx, ds, &failed)
	}
	if err == nil {
		err = s.writeItemRows(ctx, ds, &failed)
	}
	if err != nil {
		return fmt.Errorf("view %s: %w", s.target.View, err)
	}
	return failed.OrNil()
}

// writeRows writes rows that guard themselves. Each op is one conditional write.
func (s *Sink) writeRows(ctx context.Context, ds []pipeline.Delivery, failed *pipeline.BatchError) error {
	w := rowsWrite{sink: s, batch: s.batchPool.get()}
	w.batch.addOps(ds)
	if err := runRounds(ctx, w.nextAttempts, w.writeRound, nil); err != nil {
		return err
	}
	w.batch.setOutcomes(ds, failed)
	s.batchPool.put(w.batch)
	return nil
}

// rowsWrite is one call of Write for rows that guard themselves.
type rowsWrite struct {
	sink  *Sink
	batch *batch[*Op]
}

// nextAttempts returns the attempts of the next round, in the order in which the store gets them.
func (w *rowsWrite) nextAttempts() []attempt[*Op] {
	attempts := w.batch.nextAttempts()
	if w.sink.target.RefuseOtherItem {
		attempts = oneItemPerRow(attempts)
	}
	if !w.sink.target.InPlace {
		attempts = joinMoves(w.batch, attempts)
	}
	return attempts
}

// writeRound tries each attempt once. No attempt is lost, because each mutation compares versions in the store.
func (w *rowsWrite) writeRound(ctx context.Context, attempts []attempt[*Op]) (lost []attempt[*Op], _ error) {
	rs, err := w.sink.store.Apply(ctx, w.sink.target, hintedMutations(w.batch, attempts))
	return handleResults(attempts, rs, err, w.onError, w.onSuccess)
}

func (w *rowsWrite) onError(a attempt[*Op], err error) {
	if e, ok := errors.AsType[*CollisionError](err); ok {
		w.sink.showCollision(e, a.op.KeyText(), a.op.displayKey)
	}
	failOrRemove(w.batch, a.key, showForeignRow(err, w.sink.mask, a.op))
}

func (w *rowsWrite) onSuccess(a attempt[*Op], r Result) {
	if r.Superseded {
		w.batch.settle(a.key, superseded, nil)
	} else {
		w.batch.settle(a.key, written, nil)
	}
}
