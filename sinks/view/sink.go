package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// Sink plans and writes one view. It is safe for concurrent use and holds no
// state of its own: every worker may have one.
type Sink struct {
	target     Target
	pk, sk     Attribute
	when       pipeline.ItemCondition // nil: every item
	attributes []Attribute
	collision  Collision
	mask       *pipeline.Mask
	masksKey   bool // in what is shown
	store      Store
	retention  state.Retention

	guard     Guard
	decided   bool     // guard holds whatever the key attributes of items are
	escaped   []string // else: it holds where their names are among these
	fixedKey  bool     // the row key reads no attribute: it never changes for an item
	readsItem bool     // a template or the condition reads attributes
	keyPaths  []pipeline.Path

	rooms    keyRooms
	batches  batches[*Op]
	claiming sync.RWMutex // held by a Write that lost a race alone, shared by the others
}

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.Requirer   = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
	_ pipeline.Guarded    = (*Sink)(nil)

	_ pipeline.EventIgnorer = (*Sink)(nil)
)

// New makes the sink of a view. The error names the option that is wrong.
func New(o Options) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("view %q: %w", o.Name, err)
	}
	s := &Sink{
		target: Target{
			Table:    Table{Name: o.Table, PK: o.PK.Name, SK: o.SK.Name},
			View:     o.Name,
			Pipeline: o.Pipeline,
			InPlace:  o.InPlace,
			Birth:    o.Birth,
		},
		pk:         o.PK,
		sk:         o.SK,
		when:       o.When,
		attributes: slices.Clone(o.Attributes),
		collision:  cmp.Or(o.Collision, DeadLetterCollision),
		mask:       o.Mask,
		masksKey:   masksKey(o.Mask, "", o.PK, o.SK),
		store:      o.Store,
		retention:  o.Retention,
		readsItem:  o.When != nil,
		fixedKey:   true,
	}
	s.guard, s.escaped, s.decided = o.guard()
	if s.guard.ByItem && s.store != nil {
		if _, ok := s.store.(ItemStore); !ok {
			return nil, fmt.Errorf("view %q: Store is a %T, which is no ItemStore: its rows are guarded by item, because %s", o.Name, o.Store, s.guard.Why)
		}
	}
	for _, a := range o.key() {
		for _, path := range a.Template.Paths() {
			s.fixedKey, s.readsItem = false, true
			p, err := pipeline.ParsePath(path)
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

// Target is the view as its store sees it.
func (s *Sink) Target() Target { return s.target }

// KeepsKeyOrder is true: an older write that comes after a newer one loses.
func (s *Sink) KeepsKeyOrder() bool { return true }

// IgnoresEvents is true.
func (s *Sink) IgnoresEvents() bool { return true }

// Guarded is true: versions decide.
func (s *Sink) Guarded() bool { return true }

// Write applies the planned ops. A change of which any op was applied is
// Written; Coalesced when later changes of the batch wrote all its rows; and
// Superseded when newer ones were there. Where rows are guarded by item, a change is
// NoEffect when its item asks for no row and has none, or when another has the
// row; the latter fails with a [CollisionError] as the view's [Collision] says.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if s.store == nil {
		return pipeline.Fatal(errs.Errorf("view %s has no store: it was made to plan only", pipeline.Safe(s.target.View)))
	}
	var failed pipeline.BatchError
	s.retention.Refuse(ds, &failed)
	for _, write := range []func(context.Context, []pipeline.Delivery, *pipeline.BatchError) error{s.writeRows, s.writeClaims} {
		if err := write(ctx, ds, &failed); err != nil {
			return fmt.Errorf("view %s: %w", s.target.View, err)
		}
	}
	return failed.OrNil()
}

// writeRows writes rows that guard themselves: each op is one conditional write.
func (s *Sink) writeRows(ctx context.Context, ds []pipeline.Delivery, failed *pipeline.BatchError) error {
	b := s.batches.get()
	b.gather(ds)
	for turns := b.next(); len(turns) > 0; turns = b.next() {
		if !s.target.InPlace {
			turns = paired(b, turns)
		}
		clear(b.mutations)
		ms := b.mutations[:0]
		for _, t := range turns {
			m := t.op.Mutation
			m.Fresh, m.Joined = m.Fresh || !m.Tombstone && fresh(b, t.line), t.joined
			ms = append(ms, m)
		}
		b.mutations = ms
		rs, err := s.store.Apply(ctx, s.target, ms)
		if err != nil {
			return err
		}
		if len(rs) != len(ms) {
			return short(len(rs), len(ms), "mutations")
		}
		for i, r := range rs {
			switch {
			case r.Err != nil:
				refuse(b, turns[i].line, showForeign(r.Err, s.mask, turns[i].op))
			case r.Superseded:
				b.settle(turns[i].line, superseded, nil)
			default:
				b.settle(turns[i].line, held, nil)
			}
		}
	}
	b.finish(ds, failed)
	s.batches.put(b)
	return nil
}

// short is the error of a store that answers less than it was asked.
func short(got, want int, what string) error {
	return pipeline.Fatal(errs.Errorf("the store answered %d of %d %s", got, want, pipeline.Safe(what)))
}
