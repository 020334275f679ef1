package search

import (
	"cmp"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
)

// The reasons of changes that mean nothing to an index.
const (
	ReasonWhen   = "when"   // the item had no document and gets none
	ReasonSparse = "sparse" // so it is, because an attribute that names its index is missing
)

// place is where an item has its document: in no index where index is "".
type place struct {
	index   string
	why     string // no place: ReasonWhen or ReasonSparse
	unknown bool   // the image does not tell where its document would be
}

// Plan turns a change into the mutations that make the index follow it: a put
// where the new image has its place, a tombstone where the old one had another.
// If the stream does not show the old image, Plan assumes that there was a document. If the
// index also depends on the item, the index of that document is unknown and the change is an
// error ([Sink.Requires] has such a stream refused when it starts).
//
// If no document can be made of an image, the change fails after its tombstone is durable, so
// that it is redriven when the settings are mended:
//
//   - A new image: a void tombstone ([Mutation.Void]) replaces the item's document. The next
//     change would not find that document, since its old image is this one.
//   - An old image: no document was ever made of it, and the one before it was removed then. If
//     its index can be named, a tombstone goes there all the same: the change in dead letters may
//     be redriven and put a document there. If not, this change goes to dead letters too, so
//     that it is redriven after that one.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	c := d.Change
	if !c.New.Exists() && !c.Removed() {
		return errs.Errorf("search: a %s without a new image: documents are made of it", redact.Safe(c.Op.String()))
	}
	from, before := s.former(c)
	if before != nil && !c.Old.Exists() {
		return before
	}
	routing, err := s.route(c)
	if err != nil {
		return err
	}
	var to place
	var flaw error
	if !c.Removed() {
		to, flaw = s.place(c, c.New)
	}
	var doc []byte
	if flaw == nil && to.index != "" {
		doc, flaw = s.document(d, c.New, c.Version)
	}
	switch {
	case flaw != nil:
		if from.index != "" {
			s.addTombstone(d, from, routing, Leave, true)
		}
	case from.index == "" && to.index == "":
		d.Outcome, d.Reason = pipeline.NoEffect, to.why
		if c.Removed() {
			d.Reason = from.why
		}
	default:
		s.move(d, from, to, routing, doc)
	}
	if flaw == nil && from.unknown {
		flaw = errs.Errorf("the change is written, and the one before it is in dead letters, since no document can be made of its image; it must come again behind that one: redrive both. The image before: %w", before)
	}
	if flaw == nil {
		return nil
	}
	if len(d.Ops) == 0 {
		d.Outcome, d.Reason = pipeline.Written, ""
		return flaw
	}
	d.Ops[0].(*Mutation).flaw = flaw
	return nil
}

// move adds what takes the item's document from one place to another. Either may be none.
func (s *Sink) move(d *pipeline.Delivery, from, to place, routing string, doc []byte) {
	if from.index != "" && from.index != to.index {
		why := Leave
		switch {
		case d.Change.Removed():
			why = Gone
		case to.index != "":
			why = MoveOut
		}
		s.addTombstone(d, from, routing, why, false)
	}
	if to.index == "" {
		return
	}
	why := MoveIn
	switch from.index {
	case to.index:
		why = Stay
	case "":
		why = Enter
	}
	s.mutation(d, to.index, routing, why).Doc = doc
}

// addTombstone adds the tombstone of the document at from.
func (s *Sink) addTombstone(d *pipeline.Delivery, from place, routing string, why Why, void bool) {
	m := s.mutation(d, from.index, routing, why)
	m.Tombstone, m.Void = true, void
	var room [192]byte
	m.Doc = d.Bytes(s.appendTombstone(room[:0], d.Change.Version, void))
}

func (s *Sink) mutation(d *pipeline.Delivery, index, routing string, why Why) *Mutation {
	c := d.Change
	m := pipeline.Alloc[Mutation](d)
	*m = Mutation{Index: index, ID: s.id(c), Routing: routing, Version: c.Version, Time: c.Time, Why: why}
	d.Ops = append(d.Ops, m)
	return m
}

// place is where item has its document. With an error it has none, and the place is the
// one that a document of it would have, as far as its index can be named.
func (s *Sink) place(c *record.Change, item item.Image) (place, error) {
	if !item.Exists() {
		return place{why: ReasonWhen}, nil
	}
	var flaw error
	if s.when != nil {
		taken, err := s.when.Match(item)
		if err == nil && !taken {
			return place{why: ReasonWhen}, nil
		}
		if err != nil {
			flaw = fmt.Errorf("search: when: %w", err)
		}
	}
	p, err := s.indexOf(c, item)
	if err != nil {
		return place{why: ReasonSparse, unknown: true}, cmp.Or(flaw, err)
	}
	return p, flaw
}

// former is where the item had its document before the change.
func (s *Sink) former(c *record.Change) (place, error) {
	switch {
	case c.Old.Exists():
		return s.place(c, c.Old)
	case c.Op == record.Insert || c.Op == record.Snapshot || c.ViewType.HasOld():
		return place{why: ReasonWhen}, nil // there was no item
	case len(s.index.Paths()) > 0:
		return place{}, errs.Errorf("search: a %s without an old image: the index %q depends on it", redact.Safe(c.Op.String()), s.index)
	}
	return s.indexOf(c, item.Image{})
}

func (s *Sink) indexOf(c *record.Change, item item.Image) (place, error) {
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
