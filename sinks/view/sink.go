package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
)

// Sink plans and writes one view. It is safe for concurrent use and holds no
// state of its own: every worker may have one.
type Sink struct {
	target     Target
	pk, sk     Attribute
	when       pipeline.ItemCondition // nil: every item
	attributes []Attribute
	store      Store

	keyText   string   // the row key's templates, for errors
	keyInRow  bool     // the row key holds {@key}
	escaped   []string // else: attributes that it holds with |esc
	fixedKey  bool     // the row key reads no attribute: it never changes for an item
	readsItem bool     // a template or the condition reads attributes
}

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.Requirer   = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
)

// New makes the sink of a view. The error names the option that is wrong.
func New(o Options) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("view %q: %w", o.Name, err)
	}
	paths, keyInRow, err := o.guardable()
	if err != nil {
		return nil, fmt.Errorf("view %q: %w", o.Name, err)
	}
	s := &Sink{
		target: Target{
			Table:    Table{Name: o.Table, PK: o.PK.Name, SK: o.SK.Name},
			View:     o.Name,
			Pipeline: o.Pipeline,
		},
		pk:         o.PK,
		sk:         o.SK,
		when:       o.When,
		attributes: slices.Clone(o.Attributes),
		store:      o.Store,
		keyText:    o.keyText(),
		keyInRow:   keyInRow,
		readsItem:  o.When != nil,
		fixedKey:   true,
	}
	for _, p := range paths {
		if name := keyAttribute(p); name != "" {
			s.escaped = append(s.escaped, name)
		}
	}
	for _, a := range []Attribute{o.PK, o.SK} {
		if a.Template != nil && len(a.Template.Paths()) > 0 {
			s.fixedKey, s.readsItem = false, true
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

// Write applies the planned ops. A change of which any op was applied is
// Written; Coalesced when later changes of the batch wrote all its rows; and
// Superseded when newer ones were there.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if s.store == nil {
		return pipeline.Fatal(errors.New("view " + s.target.View + " has no store: it was made to plan only"))
	}
	b := gather(ds)
	for ms := b.next(); len(ms) > 0; ms = b.next() {
		rs, err := s.store.Apply(ctx, s.target, ms)
		if err != nil {
			return fmt.Errorf("view %s: %w", s.target.View, err)
		}
		if len(rs) != len(ms) {
			return pipeline.Fatal(fmt.Errorf("view %s: the store answered %d of %d mutations", s.target.View, len(rs), len(ms)))
		}
		b.settle(rs)
	}
	return b.finish(ds)
}
