package search

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
)

// The reasons of changes that have no effect on an index.
const (
	ReasonWhen = "when" // the item had no document and gets none
	// ReasonSparse means that the item has no document because an attribute in the name of its index is missing
	ReasonSparse = "sparse"
)

// documentLocation is the index of an item's document. index is "" if the item has no document.
type documentLocation struct {
	index   string
	reason  string // reason why there is no document: ReasonWhen or ReasonSparse
	unknown bool   // the name of the index cannot be made from the image
}

// exists reports whether there is a document.
func (l documentLocation) exists() bool { return l.index != "" }

// Plan adds the mutations of a change. It adds a put if the new image has a document. It adds a tombstone if the old
// image had a document and the new image has no document in the same index. If neither image has a document, Plan does
// not evaluate the routing. If the stream does not show the old image, Plan assumes that there was a document. If the
// name of the index also depends on the item, the index of the old document is unknown, and Plan returns an error.
// [Sink.Requires] makes the pipeline refuse such a stream when it starts.
//
// If no document can be made of an image, the change fails after its tombstone is durable. It becomes a dead letter.
// After an operator corrects the settings, the change is redriven. There are two cases:
//
//   - The new image is at fault. A void tombstone ([Mutation].Void) replaces the item's document now. The next change
//     could not remove that document, because no document can be made of its old image, which is this image.
//   - The old image is at fault. The earlier change made no document of it, and removed the item's document. If the old
//     image names an index, Plan nevertheless adds a tombstone in that index, because a redrive of the earlier change
//     may put a document there. If the old image names no index, this change goes to dead letters too. Then both
//     changes are redriven, this one after the earlier one.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	c := d.Change
	if !c.New.Exists() && !c.Removed() {
		return errs.Errorf("search: a %s without a new image: documents are made of it", redact.Safe(c.Op.String()))
	}
	if s.o.ForEach != nil {
		return s.planElements(d)
	}

	before, oldErr := s.locateBefore(c)
	if oldErr != nil && !c.Old.Exists() {
		return oldErr // without the old image, the index of the item's document is unknown
	}
	var after documentLocation
	var newErr error
	if !c.Removed() {
		after, newErr = s.locateDocument(c, c.New)
	}

	routing, err := s.route(c, before.exists() || after.exists())
	if err != nil {
		return err
	}

	var doc []byte
	if newErr == nil && after.exists() {
		doc, newErr = s.document(d, c.New, c.Version)
	}

	switch {
	case newErr == nil:
		s.move(d, before, after, routing, doc)
	case before.exists():
		s.addTombstone(d, before.index, s.id(c), routing, Leave, voidTombstone)
	}
	return finishPlan(d, before, after, newErr, oldErr)
}

// finishPlan ends a plan. newErr and oldErr are the errors of the two images, or nil. The change fails if it has a
// newErr, or if its old image does not name the index of its documents. It fails once its mutations are durable, or at
// once if it has none. A change that does not fail and has no mutations has no effect.
func finishPlan(d *pipeline.Delivery, before, after documentLocation, newErr, oldErr error) error {
	changeErr := newErr
	if changeErr == nil && before.unknown {
		changeErr = errs.Errorf(
			"the change is written, and the one before it is in dead letters, since no document can be made of its image; it must come again after that one: redrive both. The image before: %w", oldErr)
	}

	if len(d.Ops) > 0 {
		d.Ops[0].(*Mutation).changeErr = changeErr
		return nil
	}
	if changeErr != nil {
		return changeErr
	}
	d.Outcome, d.Reason = pipeline.NoEffect, after.reason
	if d.Change.Removed() {
		d.Reason = before.reason
	}
	return nil
}

// move adds the mutations that move the item's document from one location to another. A location without an index means
// that there is no document.
func (s *Sink) move(d *pipeline.Delivery, before, after documentLocation, routing string, doc []byte) {
	leavesIndex := before.exists() && before.index != after.index
	if leavesIndex {
		s.addTombstone(d, before.index, s.id(d.Change), routing, leaveCause(d.Change, after.exists()), tombstone)
	}

	if !after.exists() {
		return
	}
	cause := MoveIn
	switch {
	case !before.exists(), d.Change.Inserted(): // an inserted item may replace the document of an expired item
		cause = Enter
	case before.index == after.index:
		cause = Stay
	}
	m := addMutation(d, after.index, s.id(d.Change), routing, cause)
	m.Doc, m.mayReplaceExpired = doc, d.Change.Inserted() && s.o.NoTTLDeletes
}

// leaveCause returns the reason why a change removes a document from an index. movesOn means that another index gets
// the document.
func leaveCause(c *record.Change, movesOn bool) Cause {
	switch {
	case c.Removed():
		return ItemRemoved
	case movesOn:
		return MoveOut
	}
	return Leave
}

// addTombstone adds the tombstone of a document.
func (s *Sink) addTombstone(d *pipeline.Delivery, index, id, routing string, cause Cause, kind documentKind) {
	m := addMutation(d, index, id, routing, cause)
	m.Tombstone, m.Void = true, kind == voidTombstone
	var buf [192]byte
	m.Doc = d.Bytes(s.appendTombstone(buf[:0], d.Change.Version, kind))
}

// addMutation adds a mutation without a document, and returns it.
func addMutation(d *pipeline.Delivery, index, id, routing string, cause Cause) *Mutation {
	c := d.Change
	m := pipeline.Alloc[Mutation](d)
	*m = Mutation{Index: index, ID: id, Routing: routing, Version: c.Version, Time: timeOf(c), Why: cause}
	d.Ops = append(d.Ops, m)
	return m
}

// timeOf returns the creation time of a change, for stores that order changes by time. The time of a line of an
// incremental export can be in the same second as a newer change. So timeOf replaces it by a time before all changes of
// a stream: the number of the export's layer in seconds after 1970.
func timeOf(c *record.Change) time.Time {
	if c.Time.IsZero() || !c.FromSnapshot() {
		return c.Time
	}
	layer, err := strconv.Atoi(c.Sequence)
	if err != nil {
		return c.Time
	}
	return time.Unix(int64(layer), 0).UTC()
}

// locateDocument returns the location of an item's document. If it returns an error, there is no document. The location
// then has the index where the document would be, if the image names one.
func (s *Sink) locateDocument(c *record.Change, item item.Image) (documentLocation, error) {
	if !item.Exists() {
		return documentLocation{reason: ReasonWhen}, nil
	}

	matches, whenErr := s.matchItem(item)
	isExcluded := whenErr == nil && !matches
	if isExcluded {
		return documentLocation{reason: ReasonWhen}, nil
	}
	location, err := s.indexOf(c, item)
	if err != nil {
		return documentLocation{reason: ReasonSparse, unknown: true}, cmp.Or(whenErr, err)
	}
	return location, whenErr
}

// matchItem reports whether an item matches the condition of the sink.
func (s *Sink) matchItem(item item.Image) (bool, error) {
	if s.when == nil {
		return true, nil
	}
	matches, err := s.when.Match(item)
	if err != nil {
		err = fmt.Errorf("search: when: %w", err)
	}
	return matches, err
}

// locateBefore returns the location that the item's document had before the change. Its results are those of
// locateDocument.
func (s *Sink) locateBefore(c *record.Change) (documentLocation, error) {
	switch {
	case c.Old.Exists():
		return s.locateDocument(c, c.Old)
	case c.FoundNoItem(s.o.NoTTLDeletes), c.InsertedAndRemoved():
		return documentLocation{reason: ReasonWhen}, nil
	case !s.indexDependsOnItem():
		return s.indexOf(c, c.Keys)
	case c.Inserted(): // the index of an expired item's document is unknown
		return documentLocation{reason: ReasonWhen}, nil
	}
	return documentLocation{}, errs.Errorf("search: a %s without an old image: the index %q depends on it",
		redact.Safe(c.Op.String()), s.o.Index)
}

// indexOf returns the location that the template of the index name gives for an item.
func (s *Sink) indexOf(c *record.Change, item item.Image) (documentLocation, error) {
	if s.fixedIndex != "" {
		return documentLocation{index: s.fixedIndex}, nil
	}
	var buf [128]byte
	text, missing, err := s.o.Index.AppendText(buf[:0], template.Scope{Change: c, Item: item, Mask: s.documentMask})
	if err != nil {
		return documentLocation{}, fmt.Errorf("search: index %q: %w", s.o.Index, err)
	}
	if missing != "" {
		return documentLocation{reason: ReasonSparse}, nil
	}
	name, err := s.checkedNames.Text(text, CheckIndex)
	if err != nil {
		return documentLocation{}, fmt.Errorf("search: index %q: %w", s.o.Index, err)
	}
	return documentLocation{index: name}, nil
}
