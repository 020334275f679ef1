package search

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
)

// The reasons of changes that mean nothing to an index.
const (
	ReasonWhen   = "when"   // the item had no document and gets none
	ReasonSparse = "sparse" // so it is, because an attribute that names its index is missing
)

// place is where an item has its document: in no index where index is "".
type place struct {
	index string
	why   string // no place: ReasonWhen or ReasonSparse
}

// Plan turns a change into the mutations that make the index follow it: a put
// where the new image has its place, a tombstone where the old one had another.
// Of an item whose old image the stream does not show it assumes that there was
// a document; where the index depends on the item nobody can tell in which, and the
// change is an error, since a document would stay behind ([Sink.Requires] has such a
// stream refused when it starts).
func (s *Sink) Plan(d *pipeline.Delivery) error {
	c := d.Change
	if !c.New.Exists() && !c.Removed() {
		return fmt.Errorf("search: a %s without a new image: documents are made of it", c.Op)
	}
	from, err := s.former(c)
	if err != nil {
		return err
	}
	var to place
	if !c.Removed() {
		if to, err = s.place(c, c.New); err != nil {
			return err
		}
	}
	if from.index == "" && to.index == "" {
		d.Outcome, d.Reason = pipeline.NoEffect, to.why
		if c.Removed() {
			d.Reason = from.why
		}
		return nil
	}
	id := s.id(c)
	routing, err := s.route(c)
	if err != nil {
		return err
	}
	if from.index != "" && from.index != to.index {
		m := pipeline.Alloc[Mutation](d)
		*m = Mutation{Index: from.index, ID: id, Routing: routing, Version: c.Version, Time: c.Time, Tombstone: true, Why: Leave}
		var room [192]byte
		m.Doc = d.Bytes(s.appendTombstone(room[:0], c.Version))
		switch {
		case c.Removed():
			m.Why = Gone
		case to.index != "":
			m.Why = MoveOut
		}
		d.Ops = append(d.Ops, m)
	}
	if to.index != "" {
		m := pipeline.Alloc[Mutation](d)
		m.Index, m.ID, m.Routing, m.Version, m.Time, m.Why = to.index, id, routing, c.Version, c.Time, Stay
		switch from.index {
		case to.index:
		case "":
			m.Why = Enter
		default:
			m.Why = MoveIn
		}
		if m.Doc, err = s.document(d, c.New, c.Version); err != nil {
			return err
		}
		d.Ops = append(d.Ops, m)
	}
	return nil
}

// place is where item has its document.
func (s *Sink) place(c *pipeline.Change, item pipeline.Image) (place, error) {
	if !item.Exists() {
		return place{why: ReasonWhen}, nil
	}
	if s.when != nil {
		taken, err := s.when.Match(item)
		if err != nil {
			return place{}, fmt.Errorf("search: when: %w", err)
		}
		if !taken {
			return place{why: ReasonWhen}, nil
		}
	}
	return s.indexOf(c, item)
}

// former is where the item had its document before the change.
func (s *Sink) former(c *pipeline.Change) (place, error) {
	switch {
	case c.Old.Exists():
		p, err := s.place(c, c.Old)
		if err != nil && len(s.index.Paths()) == 0 {
			// The change that made the item so is in dead letters, and an earlier one
			// may have left a document.
			return s.indexOf(c, pipeline.Image{})
		}
		return p, err
	case c.Op == pipeline.Insert || c.Op == pipeline.Snapshot || c.ViewType.HasOld():
		return place{why: ReasonWhen}, nil // there was no item
	case len(s.index.Paths()) > 0:
		return place{}, fmt.Errorf("search: a %s without an old image: the index %q depends on it", c.Op, s.index)
	}
	return s.indexOf(c, pipeline.Image{})
}

func (s *Sink) indexOf(c *pipeline.Change, item pipeline.Image) (place, error) {
	if s.fixed != "" {
		return place{index: s.fixed}, nil
	}
	var room [128]byte
	text, missing, err := s.index.AppendText(room[:0], template.Scope{Change: c, Item: item, Mask: s.mask})
	if err != nil {
		return place{}, fmt.Errorf("search: index %q: %w", s.index, err)
	}
	if missing != "" {
		return place{why: ReasonSparse}, nil
	}
	name, err := s.recent.Text(text, CheckIndex)
	if err != nil {
		return place{}, fmt.Errorf("search: index %q: %w", s.index, err)
	}
	return place{index: name}, nil
}
