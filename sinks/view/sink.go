package view

import (
	"cmp"
	"context"
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
	copier     *copier        // nil if rows have attributes instead
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
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.Requirer   = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
	_ pipeline.Guarded    = (*Sink)(nil)

	_ pipeline.EventIgnorer = (*Sink)(nil)
)

// New returns the sink of a view. The error names the wrong option.
func New(o Options) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("view %q: %w", o.Name, err)
	}
	s := &Sink{
		base: base{
			target: Target{Table: Table{Name: o.Table, PK: o.PK.Name, SK: o.SK.Name}, View: o.Name, Pipeline: o.Pipeline,
				InPlace: o.InPlace, Birth: o.Birth},
			pk: o.PK, sk: o.SK, when: o.When, mask: o.Mask, masksKey: masksKey(o.Mask, o.forEachPath(), o.PK, o.SK),
			retention: o.Retention, noTTLDeletes: o.NoTTLDeletes, readsItem: o.When != nil || o.All != nil || o.ForEach != nil,
		},
		attributes: slices.Clone(o.Attributes), forEach: o.ForEach, copier: newCopier(o),
		collision: cmp.Or(o.Collision, DeadLetterCollision), backfill: o.Backfill, store: o.Store, shards: o.Shards,
		fixedKey: true,
	}
	s.guardMode, s.escapedKeys, s.guardModeFixed = o.guardMode()
	s.target.RefuseOtherItem = s.guardMode == uniqueByNames
	if o.ForEach != nil {
		if err := o.checkForEach(s.guardMode); err != nil {
			return nil, fmt.Errorf("view %q: %w", o.Name, err)
		}
		s.guardMode, s.guardModeFixed = rowsOfElements, true
	}
	if s.guardMode.ByItem && s.forEach == nil && s.store != nil {
		if _, ok := s.store.(ItemStore); !ok {
			return nil, fmt.Errorf("view %q: Store is a %T, which does not implement ItemStore: its rows are guarded by item, because %s",
				o.Name, o.Store, s.guardMode.Why)
		}
	}
	for _, a := range o.key() {
		for _, path := range a.Template.Paths() {
			s.fixedKey, s.readsItem = false, true
			p, err := item.ParsePath(path)
			if err != nil {
				return nil, fmt.Errorf("view %q: %w", o.Name, err)
			}
			s.keyPaths = append(s.keyPaths, p)
		}
	}
	for _, a := range o.Attributes {
		s.readsItem = s.readsItem || len(a.Template.Paths()) > 0
	}
	return s, nil
}

// Write applies the planned ops. The outcome of a change is:
//
//   - Written, if at least one of its ops was applied;
//   - Coalesced, if later changes of the batch wrote all its rows;
//   - Superseded, if newer versions were stored;
//   - NoEffect, for rows guarded by item, if the item claims no row and has none, or if its claim waits. With
//     [DeadLetterCollision] a change whose claim waits fails with a [CollisionError] instead, except in a backfill.
//   - NoEffect, with ForEach, if the item has no rows and had none.
//
// If [Options.Unique] should identify the item and another item has the row, the change also fails with a
// [CollisionError].
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if s.store == nil {
		return pipeline.Fatal(errs.Errorf("view %s has no store: it was made to plan only", redact.Safe(s.target.View)))
	}
	var failed pipeline.BatchError
	s.retention.Refuse(ds, &failed)
	for _, write := range []func(context.Context, []pipeline.Delivery, *pipeline.BatchError) error{s.writeRows,
		s.writeClaims, s.writeItemRows} {
		if err := write(ctx, ds, &failed); err != nil {
			return fmt.Errorf("view %s: %w", s.target.View, err)
		}
	}
	return failed.OrNil()
}

// writeRows writes rows that guard themselves. Each op is one conditional write.
func (s *Sink) writeRows(ctx context.Context, ds []pipeline.Delivery, failed *pipeline.BatchError) error {
	b := s.batchPool.get()
	b.addOps(ds)
	next := b.nextAttempts
	if s.target.RefuseOtherItem {
		next = func() []attempt[*Op] { return oneItemPerRow(b.nextAttempts()) }
	}
	if !s.target.InPlace {
		attempts := next
		next = func() []attempt[*Op] { return joinMoves(b, attempts()) }
	}
	err := runRounds(ctx, next, func(ctx context.Context, attempts []attempt[*Op]) ([]attempt[*Op], error) {
		rs, err := s.store.Apply(ctx, s.target, hintedMutations(b, attempts))
		onError := func(a attempt[*Op], err error) {
			failOrRemove(b, a.key, s.showCollision(showForeignRow(err, s.mask, a.op), a.op))
		}
		return handleResults(attempts, rs, err, "mutations", onError, func(a attempt[*Op], r Result) {
			state := written
			if r.Superseded {
				state = superseded
			}
			b.settle(a.key, state, nil)
		})
	}, nil)
	if err != nil {
		return err
	}
	b.setOutcomes(ds, failed)
	s.batchPool.put(b)
	return nil
}
