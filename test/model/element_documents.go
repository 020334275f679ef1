package model

import (
	"maps"
	"slices"
)

// elementDocuments returns the documents of an index with ForEach. The document of an element follows from the newest
// change with an image that has this element.
func (k *Search) elementDocuments(sink, pipeline string, cs []change, count *Count) State {
	s, newest := newState(), map[string]string{}
	for _, c := range cs {
		now, is := k.documentsOf(c, pipeline)
		names := k.formerNames(c)
		switch {
		case is == failed:
			s.requireLetter(sink, c, count)
			now = nil
		case len(now) == 0 && len(names) == 0:
			count.Idle++
		}
		for _, name := range slices.Concat(names, slices.Collect(maps.Keys(now))) {
			if c.version < newest[name] {
				continue
			}
			newest[name] = c.version
			if delete(s.Documents, name); now[name] != "" {
				s.Documents[name] = now[name]
			}
		}
	}
	return s
}

// documentsOf returns the documents of the elements after a change, by document name.
func (k *Search) documentsOf(c change, pipeline string) (map[string]string, verdict) {
	if c.New == nil {
		return nil, found
	}
	all, is := k.ForEach.chosen(k.When, k.WhenEach, c.New)
	if is != found {
		return nil, is
	}
	documents := map[string]string{}
	for _, e := range all {
		doc := map[string]any{"_tw": map[string]any{"version": c.version, "by": pipeline}}
		for name, a := range c.New {
			doc[name] = plainJSON(a)
		}
		doc[k.ForEach.Path] = plainJSON(e.value)
		documents[k.name(c, e)] = DocumentText(doc)
	}
	return documents, found
}

// name returns the document name of an element.
func (k *Search) name(c change, e element) string {
	return k.Index + " " + c.key + "::" + escaped(e.id)
}

// formerNames returns the names of the documents that the old image may have. It looks at every element, even beyond
// Max.
func (k *Search) formerNames(c change) (names []string) {
	if c.Old == nil || k.WhenEach == nil && holds(k.When, c.Old) == missing {
		return nil
	}
	all, is := (&ForEach{Path: k.ForEach.Path, By: k.ForEach.By}).elements(c.Old)
	if is != found {
		return nil
	}
	for _, e := range all {
		if e.id != "" && meets(k.When, k.WhenEach, c.Old, e) != missing {
			names = append(names, k.name(c, e))
		}
	}
	return names
}
