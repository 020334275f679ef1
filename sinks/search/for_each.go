package search

import (
	"cmp"
	"fmt"
	"math"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// With Options.ForEach an item has a document for each of its elements. Each document has the version of the change
// that wrote it. A change writes the documents of all elements in its new image. It writes a tombstone for each element
// that is only in its old image. So each change that has an element in one of its images writes the document or the
// tombstone of that element. The newest of these changes wins, in whatever order they come. Nothing has to remember
// which documents an item has.
//
// If no documents can be made of the new image, void tombstones replace the documents of the old image, and the change
// fails. The same version may replace a void tombstone once. The maximum of Options.ForEach does not apply to old
// images, because a redrive under a higher maximum may have written more documents.

// checkForEach checks the options that concern elements, and sets the fields of the sink that elements need.
func (s *Sink) checkForEach() error {
	if s.o.ForEach == nil {
		return nil
	}
	var ok bool
	if s.within, ok = s.o.ForEach.Path.Names(); !ok || len(s.within) == 0 {
		return errs.Errorf("the path %s is into a list: name attributes of maps", redact.Field(s.o.ForEach.Path.String()))
	}
	if each := s.o.Index.EachPaths(); len(each) > 0 || s.o.Index.ReadsIdentity() {
		return errs.New("the name of the index reads the element: name it by the item")
	}
	if s.o.Routing != nil && s.o.Routing.ReadsIdentity() {
		return errs.New("the routing reads the element: make it of key attributes")
	}
	s.when, s.whenElement = pipeline.SplitCondition(s.when)
	s.unlimited = *s.o.ForEach
	s.unlimited.Max = math.MaxInt
	return nil
}

// shownElement is the element that a document shows. It replaces the list, the set or the map that contains it.
type shownElement struct {
	path  []string   // names from the current map down to the list, the set or the map
	value item.Value // the element without its hidden attributes; absent if it is hidden as a whole
}

// replace returns the value of the attribute name in the document. The second result is not nil if the list, set or map
// to replace is inside that value.
func (e *shownElement) replace(name string, v item.Value) (item.Value, *shownElement) {
	switch {
	case name != e.path[0]:
		return v, nil
	case len(e.path) == 1:
		return e.value, nil
	}
	return v, &shownElement{e.path[1:], e.value}
}

// elementDocument is a document of an element.
type elementDocument struct {
	id       string
	position int // position of the element in its list, set or map
}

// elementDocuments are the documents of the elements of an image.
type elementDocuments struct {
	documentLocation
	docs []elementDocument
	n    int // number of elements in the image
}

// planElements is Plan for a sink with ForEach.
func (s *Sink) planElements(d *pipeline.Delivery) error {
	c := d.Change
	if !c.Old.Exists() && c.Op != record.Insert && c.Op != record.Snapshot && !c.ViewType.HasOld() {
		return errs.Errorf("search: a %s without an old image: only it tells which elements of %s left",
			redact.Safe(c.Op.String()), redact.Field(s.o.ForEach.Path.String()))
	}
	from, oldFlaw := s.locateElements(c, c.Old, &s.unlimited)
	var to elementDocuments
	var docs [][]byte
	var flaw error
	if !c.Removed() {
		to, flaw = s.locateElements(c, c.New, s.o.ForEach)
	}
	var routing string
	if len(from.docs) > 0 || len(to.docs) > 0 {
		var err error
		if routing, err = s.route(c); err != nil {
			return err
		}
	}
	if flaw == nil {
		docs, flaw = s.documentsOf(d, &to)
	}
	if flaw == nil {
		s.moveElements(d, &from, &to, routing, docs)
	} else {
		for _, e := range from.docs {
			s.addTombstone(d, from.index, e.id, routing, Leave, true)
		}
	}
	return finish(d, from.documentLocation, to.documentLocation, flaw, oldFlaw)
}

// moveElements adds the mutations that turn the documents of the old image into those of the new image.
func (s *Sink) moveElements(d *pipeline.Delivery, from, to *elementDocuments, routing string, docs [][]byte) {
	before, after := from.ids(), to.ids()
	for i, e := range to.docs {
		why := Enter
		switch {
		case !before[e.id]:
		case from.index == to.index:
			why = Stay
		default:
			why = MoveIn
		}
		addMutation(d, to.index, e.id, routing, why).Doc = docs[i]
	}
	for _, e := range from.docs {
		why := Leave
		switch {
		case d.Change.Removed():
			why = ItemRemoved
		case !after[e.id]:
		case from.index == to.index:
			continue // its document is replaced
		default:
			why = MoveOut
		}
		s.addTombstone(d, from.index, e.id, routing, why, false)
	}
}

// ids returns the ids of the documents.
func (ds *elementDocuments) ids() map[string]bool {
	ids := make(map[string]bool, len(ds.docs))
	for i := range ds.docs {
		ids[ds.docs[i].id] = true
	}
	return ids
}

// locateElements returns the documents of an image's elements. With an error none can be made, and the result has the
// documents that may exist.
func (s *Sink) locateElements(c *record.Change, image item.Image, of *elements.Spec) (elementDocuments, error) {
	at, flaw := s.locateDocument(c, image)
	located := elementDocuments{documentLocation: at}
	if at.index == "" {
		return located, flaw
	}
	all, err := of.Of(nil, image)
	// There are no documents: a setting that could make some of this image cannot change without a new output.
	if err != nil {
		return elementDocuments{documentLocation: documentLocation{reason: ReasonSparse}}, fmt.Errorf("search: %w", err)
	}
	located.n, located.reason = len(all), ReasonSparse
	pattern := s.o.ForEach.Pattern(image)
	for i := range all {
		e := &all[i]
		if e.ID == "" {
			continue
		}
		mayMatch, err := s.matchElement(image, e)
		if !mayMatch {
			located.reason = ReasonWhen
			continue
		}
		flaw = cmp.Or(flaw, err)
		located.docs = append(located.docs, elementDocument{s.elementID(c, e, pattern), e.Position})
	}
	if len(located.docs) == 0 {
		located.index = ""
	}
	return located, flaw
}

// matchElement reports whether an element may match its condition. With an error, which is about the element, it may.
func (s *Sink) matchElement(image item.Image, e *elements.Element) (mayMatch bool, err error) {
	if s.whenElement == nil {
		return true, nil
	}
	matches, err := s.whenElement.MatchElement(image, e.Value)
	if err != nil {
		return true, s.ofElement(e.Position, fmt.Errorf("when: %w", err))
	}
	return matches, nil
}

// ofElement says which element an error is about.
func (s *Sink) ofElement(position int, err error) error {
	return errs.Errorf("search: element %d of %s: %w", position, redact.Field(s.o.ForEach.Path.String()), err)
}

// elementID returns the id of an element's document. Hidden key attributes and a hidden identity are masked.
func (s *Sink) elementID(c *record.Change, e *elements.Element, pattern string) string {
	if s.o.HashID {
		return "hmac:" + s.hasher.hashOf("id:"+string(item.AppendEscaped([]byte(string(c.Key)+elementMark), e.ID)))
	}
	identity := e.ID
	if s.o.Mask.Hides(s.o.ForEach.IDPath(pattern)) {
		identity = s.o.Mask.Text(identity)
	}
	return ElementID(s.o.Mask.Key(c), identity)
}

// documentsOf returns the JSON documents of the new image's elements, in the order of of.docs.
func (s *Sink) documentsOf(d *pipeline.Delivery, located *elementDocuments) ([][]byte, error) {
	if len(located.docs) == 0 {
		return nil, nil
	}
	shown := s.mask.Without(d.Change.New)
	values := s.shownElements(shown, located.n)
	docs := make([][]byte, len(located.docs))
	for i, e := range located.docs {
		var err error
		if docs[i], err = s.documentOf(d, shown, d.Change.Version, &shownElement{s.within, values[e.position]}); err != nil {
			return nil, s.ofElement(e.position, err)
		}
	}
	return docs, nil
}

// shownElements returns the n elements of an image without hidden attributes. If some elements are hidden as a whole,
// all n values are absent, because positions no longer match.
func (s *Sink) shownElements(shown item.Image, n int) []item.Value {
	values := make([]item.Value, 0, n)
	v, _ := shown.At(s.o.ForEach.Path)
	if v.Kind() == item.KindM {
		for _, e := range v.Members() {
			values = append(values, e)
		}
	} else {
		for _, e := range v.Elements() {
			values = append(values, e)
		}
	}
	if len(values) != n {
		return make([]item.Value, n)
	}
	return values
}
