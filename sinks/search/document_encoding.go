package search

import (
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// maxDraft is the largest capacity of a buffer that is kept for later documents, in bytes.
const maxDraft = 64 << 10

// document returns the document of an item without hidden attributes. The result is a slice of its exact size.
func (s *Sink) document(d *pipeline.Delivery, item item.Image, v record.Version) ([]byte, error) {
	return s.documentOf(d, s.documentMask.Without(item), v, nil)
}

// documentOf returns the document that appendDocument makes, as a slice of its exact size.
func (s *Sink) documentOf(d *pipeline.Delivery, shown item.Image, v record.Version, e *shownElement) ([]byte, error) {
	draft, ok := s.draftPool.Get().(*[]byte)
	if !ok {
		draft = new([]byte)
	}
	doc, err := s.appendDocument((*draft)[:0], shown, v, e)
	if cap(doc) > maxDraft { // the draft is the document, and does not return to the pool
		return doc[:len(doc):len(doc)], err
	}
	clone := d.Bytes(doc) // before the draft returns to the pool
	*draft = doc
	s.draftPool.Put(draft)
	return clone, err
}

// appendDocument appends the document of an item at version v, as plain JSON. shown is the item without its hidden
// attributes. If e is not nil, the document is that of the element e.
func (s *Sink) appendDocument(dst []byte, shown item.Image, v record.Version, e *shownElement) ([]byte, error) {
	dst = s.appendHeader(dst, v, liveDocument)
	_, hasReserved := shown.Get(reserved)
	if s.copiesItem && !hasReserved && e == nil {
		return appendUnchanged(dst, shown), nil
	}
	dst, err := s.appendMembers(dst, shown.All(), s.fields, inherited{included: s.fields.include, element: e})
	return append(dst, '}'), err
}

// appendUnchanged appends all attributes of an item, unchanged, to a document that has other fields and no closing
// brace yet.
func appendUnchanged(dst []byte, item item.Image) []byte {
	brace := len(dst)
	dst = item.AppendJSONForDoubles(dst)
	isEmpty := dst[brace+1] == '}'
	if isEmpty {
		return append(dst[:brace], '}')
	}
	dst[brace] = ','
	return dst
}

// documentKind selects the members of the field _tw.
type documentKind uint8

const (
	liveDocument  documentKind = iota
	tombstone                  // deleted is set
	voidTombstone              // deleted and void are set
)

// appendTombstone appends the document of a tombstone.
func (s *Sink) appendTombstone(dst []byte, v record.Version, kind documentKind) []byte {
	return append(s.appendHeader(dst, v, kind), '}')
}

// appendHeader opens a document with the field _tw. The field holds the version, the pipeline and the birth (the random
// id of the sink's output).
func (s *Sink) appendHeader(dst []byte, v record.Version, kind documentKind) []byte {
	dst = append(dst, `{"`+reserved+`":{"version":"`...)
	dst = v.Append(dst)
	dst = append(dst, `","by":`...)
	dst = item.AppendJSONText(dst, s.o.Pipeline)
	if s.o.Birth != "" {
		dst = append(dst, `,"birth":"`...)
		dst = append(dst, s.o.Birth...)
		dst = append(dst, '"')
	}
	if kind != liveDocument {
		dst = append(dst, `,"deleted":true`...)
	}
	if kind == voidTombstone {
		dst = append(dst, `,"void":true`...)
	}
	return append(dst, '}')
}

// inherited holds the settings that an attribute inherits from the attributes around it.
type inherited struct {
	included bool // the attribute is included
	number   Number
	hash     bool // scalars are hashed
	// element is set if the list, set or map of ForEach is inside this attribute. The element replaces that list, set
	// or map. Otherwise element is nil
	element *shownElement
}

// appendMembers appends the members of a map that are taken under the settings f, with commas between them.
func (s *Sink) appendMembers(
	dst []byte, members iter.Seq2[string, item.Value], f *field, outer inherited,
) ([]byte, error) {
	var used nameSet // the used names, among the names that both a rename and an attribute can give
	for attribute, value := range members {
		settings := f.childNamed(attribute)
		in := settings.inheritedBelow(outer)
		value, in.element = outer.element.enter(attribute, value)
		if !in.takes(value, settings) {
			continue
		}

		name := settings.nameOf(attribute)
		if from, isContested := f.renamedTo(name); isContested && !used.add(name) {
			return dst, errs.Errorf("search: %q is renamed to %q, and there is an attribute of that name: exclude it",
				redact.Field(from), redact.Field(name))
		}

		if isFirst := dst[len(dst)-1] == '{'; !isFirst {
			dst = append(dst, ',')
		}
		dst = item.AppendJSONText(dst, name)
		dst = append(dst, ':')
		var err error
		if dst, err = s.appendValue(dst, value, settings, in); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// nameSet is a set of names. The zero nameSet is empty.
type nameSet map[string]bool

// add adds a name. It returns false if the set already has the name.
func (s *nameSet) add(name string) bool {
	if (*s)[name] {
		return false
	}
	if *s == nil {
		*s = make(nameSet)
	}
	(*s)[name] = true
	return true
}

// enter returns the value of an attribute with a name and the value v, and the element that is inside it. The value is
// the element's if the attribute is the list, set or map of ForEach. e may be nil.
func (e *shownElement) enter(name string, v item.Value) (item.Value, *shownElement) {
	switch {
	case e == nil || name != e.path[0]:
		return v, nil
	case len(e.path) == 1:
		return e.value, nil
	default:
		return v, &shownElement{e.path[1:], e.value}
	}
}

// takes reports whether the document gets an attribute with the value v, or some of its members. f has the settings of
// the attribute; nil if there are none.
func (in inherited) takes(v item.Value, f *field) bool {
	switch {
	case f != nil && f.exclude, !v.Exists(): // the value of a hidden element does not exist
		return false
	case in.included:
		return true
	default:
		return f != nil && f.leadsToIncluded && canHaveMembers(v)
	}
}

func canHaveMembers(v item.Value) bool { return v.Kind() == item.KindM || v.Kind() == item.KindL }

// inheritedBelow returns the settings that the members of an attribute inherit. outer is what the attribute itself
// inherits, and f has its own settings; nil if it has none.
func (f *field) inheritedBelow(outer inherited) inherited {
	if f == nil {
		return outer
	}
	outer.included = outer.included || f.include
	if f.number != nil {
		outer.number = *f.number
	}
	outer.hash = outer.hash || f.hash
	return outer
}

// appendValue appends v as plain JSON. f has the settings of the attribute and of its members; nil means that there are
// no settings. A value that needs no changes inside is appended without walking it.
func (s *Sink) appendValue(dst []byte, v item.Value, f *field, in inherited) (out []byte, err error) {
	copiedWhole := in.included && !in.hash && in.element == nil && (f == nil || len(f.inner) == 0)
	switch { // with the other forms, the numbers inside are written one by one
	case copiedWhole && in.number == NumberExact:
		return v.AppendJSONForDoubles(dst), nil
	case copiedWhole && in.number == NumberScaledFloat:
		return v.AppendJSON(dst), nil
	}

	kind := v.Kind()
	isHashedSet := in.hash && (kind == item.KindSS || kind == item.KindBS)
	switch {
	case kind == item.KindM:
		dst, err = s.appendMembers(append(dst, '{'), v.Members(), f, in)
		return append(dst, '}'), err
	case kind == item.KindL, kind == item.KindNS, isHashedSet:
		return s.appendElements(dst, v, f, in)
	case in.hash:
		return s.hasher.append(dst, v), nil
	case kind == item.KindN:
		if d, ok := v.Number(); ok {
			return appendNumber(dst, d, in.number), nil
		}
	}
	return v.AppendJSON(dst), nil
}

// appendElements appends a list or a set as a JSON list. It leaves out elements that are not included and cannot have
// members.
func (s *Sink) appendElements(dst []byte, v item.Value, f *field, in inherited) (out []byte, err error) {
	dst = append(dst, '[')
	for _, e := range v.Elements() {
		if !in.included && !canHaveMembers(e) {
			continue
		}
		if isFirst := dst[len(dst)-1] == '['; !isFirst {
			dst = append(dst, ',')
		}
		if dst, err = s.appendValue(dst, e, f, in); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}
