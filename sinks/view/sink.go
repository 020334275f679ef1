package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Sink plans and writes one view. It is safe for concurrent use and holds no
// state of its own: every worker may have one.
type Sink struct {
	base
	attributes []Attribute
	collision  Collision
	store      Store

	guard    Guard
	decided  bool     // guard holds whatever the key attributes of items are
	escaped  []string // else: it holds where their names are among these
	fixedKey bool     // the row key reads no attribute: it never changes for an item
	keyPaths []item.Path

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
		base: base{
			target: Target{Table: Table{Name: o.Table, PK: o.PK.Name, SK: o.SK.Name}, View: o.Name, Pipeline: o.Pipeline, InPlace: o.InPlace, Birth: o.Birth},
			pk:     o.PK, sk: o.SK, when: o.When, mask: o.Mask, masksKey: masksKey(o.Mask, "", o.PK, o.SK),
			retention: o.Retention, readsItem: o.When != nil,
		},
		attributes: slices.Clone(o.Attributes), collision: cmp.Or(o.Collision, DeadLetterCollision), store: o.Store, fixedKey: true,
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

// Write applies the planned ops. A change of which any op was applied is
// Written; Coalesced when later changes of the batch wrote all its rows; and
// Superseded when newer ones were there. Where rows are guarded by item, a change is
// NoEffect when its item asks for no row and has none, or when another has the
// row; the latter fails with a [CollisionError] as the view's [Collision] says.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if s.store == nil {
		return pipeline.Fatal(errs.Errorf("view %s has no store: it was made to plan only", redact.Safe(s.target.View)))
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
	open := b.next
	if !s.target.InPlace {
		open = func() []turn[*Op] { return paired(b, b.next()) }
	}
	err := rounds(open, func(turns []turn[*Op]) ([]turn[*Op], error) {
		rs, err := s.store.Apply(ctx, s.target, mutationsOf(b, turns))
		if err != nil {
			return nil, err
		}
		refused := func(t turn[*Op], err error) { refuse(b, t.line, showForeign(err, s.mask, t.op)) }
		return judge(turns, rs, "mutations", refused, func(t turn[*Op], r Result) {
			became := held
			if r.Superseded {
				became = superseded
			}
			b.settle(t.line, became, nil)
		})
	}, nil)
	if err != nil {
		return err
	}
	b.finish(ds, failed)
	s.batches.put(b)
	return nil
}
