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
	if s.elementPath, ok = s.o.ForEach.Path.Names(); !ok || len(s.elementPath) == 0 {
		return errs.Errorf("the path %s is into a list: name attributes of maps", redact.Field(s.o.ForEach.Path.String()))
	}
	if each := s.o.Index.EachPaths(); len(each) > 0 || s.o.Index.ReadsIdentity() {
		return errs.New("the name of the index reads the element: name it by the item")
	}
	if s.o.Routing != nil && s.o.Routing.ReadsIdentity() {
		return errs.New("the routing reads the element: make it of key attributes")
	}
	s.when, s.whenElement = pipeline.SplitCondition(s.when)
	s.unlimitedForEach = *s.o.ForEach
	s.unlimitedForEach.Max = math.MaxInt
	return nil
}

// shownElement is the element that a document shows. It replaces the list, the set or the map that contains it.
type shownElement struct {
	path  []string   // names from the current map down to the list, the set or the map
	value item.Value // the element without its hidden attributes; absent if it is hidden as a whole
}

// elementDocument is a document of an element.
type elementDocument struct {
	id       string
	position int    // position of the element in its list, set or map
	json     []byte // nil for an element of the old image
}

// elementDocuments are the documents of the elements of an image.
type elementDocuments struct {
	documentLocation
	docs         []elementDocument
	elementCount int // number of elements in the image, including those without a document
}

// planElements is Plan for a sink with ForEach: it adds a mutation for each element of the two images. If no documents
// can be made of the new image, void tombstones replace the documents of the old image.
func (s *Sink) planElements(d *pipeline.Delivery) error {
	c := d.Change
	isNew := c.Op == record.Insert || c.Op == record.Snapshot
	knowsOldElements := isNew || c.Old.Exists() || c.ViewType.HasOld()
	if !knowsOldElements {
		return errs.Errorf("search: a %s without an old image: only it tells which elements of %s left",
			redact.Safe(c.Op.String()), redact.Field(s.o.ForEach.Path.String()))
	}

	before, oldErr := s.locateElements(c, c.Old, &s.unlimitedForEach)
	var after elementDocuments
	var newErr error
	if !c.Removed() {
		after, newErr = s.locateElements(c, c.New, s.o.ForEach)
	}

	routing, err := s.route(c, len(before.docs) > 0 || len(after.docs) > 0)
	if err != nil {
		return err
	}

	if newErr == nil {
		newErr = s.makeDocuments(d, &after)
	}
	if newErr == nil {
		s.moveElements(d, &before, &after, routing)
	} else {
		for _, doc := range before.docs {
			s.addTombstone(d, before.index, doc.id, routing, Leave, voidTombstone)
		}
	}
	return finishPlan(d, before.documentLocation, after.documentLocation, newErr, oldErr)
}

// moveElements adds the mutations that turn the documents of the old image into those of the new image.
func (s *Sink) moveElements(d *pipeline.Delivery, before, after *elementDocuments, routing string) {
	existed, exists := before.ids(), after.ids()
	sameIndex := before.index == after.index

	for _, doc := range after.docs {
		cause := Enter
		switch {
		case existed[doc.id] && sameIndex:
			cause = Stay
		case existed[doc.id]:
			cause = MoveIn
		}
		addMutation(d, after.index, doc.id, routing, cause).Doc = doc.json
	}

	for _, doc := range before.docs {
		isReplaced := exists[doc.id] && sameIndex
		if isReplaced {
			continue
		}
		s.addTombstone(d, before.index, doc.id, routing, leaveCause(d.Change, exists[doc.id]), tombstone)
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

// locateElements returns the documents of an image's elements, without their JSON. If locateElements returns an error,
// no documents can be made of the image under the present settings. The result then has the documents that a redrive
// under corrected settings may write.
func (s *Sink) locateElements(c *record.Change, image item.Image, spec *elements.Spec) (elementDocuments, error) {
	location, imageErr := s.locateDocument(c, image)
	located := elementDocuments{documentLocation: location}
	if !located.exists() {
		return located, imageErr
	}

	found, err := spec.Of(nil, image)
	if err != nil {
		// There are no documents. The setting that could change this cannot change for this output, so a redrive would
		// not help.
		return elementDocuments{documentLocation: documentLocation{reason: ReasonSparse}}, fmt.Errorf("search: %w", err)
	}

	located.elementCount, located.reason = len(found), ReasonSparse
	pattern := s.o.ForEach.Pattern(image)
	for i := range found {
		e := &found[i]
		if e.ID == "" { // an element without an identity has no document
			continue
		}
		matches, err := s.matchElement(image, e)
		isExcluded := err == nil && !matches
		if isExcluded {
			located.reason = ReasonWhen
			continue
		}
		imageErr = cmp.Or(imageErr, err) // a redrive may write the document of an element whose condition fails now
		located.docs = append(located.docs, elementDocument{id: s.elementID(c, e, pattern), position: e.Position})
	}
	if len(located.docs) == 0 {
		located.index = ""
	}
	return located, imageErr
}

// matchElement reports whether an element matches its condition.
func (s *Sink) matchElement(image item.Image, e *elements.Element) (bool, error) {
	if s.whenElement == nil {
		return true, nil
	}
	matches, err := s.whenElement.MatchElement(image, e.Value)
	if err != nil {
		err = s.elementError(e.Position, fmt.Errorf("when: %w", err))
	}
	return matches, err
}

// elementError adds the position of the element to its error.
func (s *Sink) elementError(position int, err error) error {
	return errs.Errorf("search: element %d of %s: %w", position, redact.Field(s.o.ForEach.Path.String()), err)
}

// elementID returns the id of an element's document. Hidden key attributes and a hidden identity are masked.
func (s *Sink) elementID(c *record.Change, e *elements.Element, pattern string) string {
	if s.o.HashID {
		hashed := item.AppendEscaped([]byte("id:"+string(c.Key)+elementMark), e.ID)
		return "hmac:" + s.hasher.hashOf(string(hashed))
	}

	identity := e.ID
	if s.o.Mask.Hides(s.o.ForEach.IDPath(pattern)) {
		identity = s.o.Mask.Text(identity)
	}
	return ElementID(s.o.Mask.Key(c), identity)
}

// makeDocuments sets the JSON of the documents of the new image.
func (s *Sink) makeDocuments(d *pipeline.Delivery, after *elementDocuments) error {
	if len(after.docs) == 0 {
		return nil
	}
	shown := s.documentMask.Without(d.Change.New)
	values := s.shownElements(shown, after.elementCount)
	for i := range after.docs {
		doc := &after.docs[i]
		element := &shownElement{s.elementPath, values[doc.position]}
		var err error
		if doc.json, err = s.documentOf(d, shown, d.Change.Version, element); err != nil {
			return s.elementError(doc.position, err)
		}
	}
	return nil
}

// shownElements returns the n elements of an image without hidden attributes. If some elements are hidden as a whole,
// all n values are absent, because positions no longer match.
func (s *Sink) shownElements(shown item.Image, n int) []item.Value {
	values := make([]item.Value, 0, n)
	container, _ := shown.At(s.o.ForEach.Path)
	if container.Kind() == item.KindM {
		for _, element := range container.Members() {
			values = append(values, element)
		}
	} else {
		for _, element := range container.Elements() {
			values = append(values, element)
		}
	}
	if len(values) != n {
		return make([]item.Value, n)
	}
	return values
}
