package search

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
)

// routingKeys returns the attributes that a routing reads. It returns an error if the template cannot consist of key
// attributes alone. It does not know the table's keys; route checks each change for attributes that are not key
// attributes.
func routingKeys(routing *template.Template) ([]string, error) {
	if routing == nil {
		return nil, nil
	}
	if !routing.Stable() {
		return nil, errs.New(
			"it differs from change to change of an item, and the document would be in two places: make it of key attributes")
	}
	if _, whole := routing.Prefix(); whole {
		return nil, errs.New(
			"it is the same for every item, and all documents would be in one shard: make it of key attributes")
	}
	if each := routing.EachPaths(); len(each) > 0 {
		return nil, errs.Errorf("{%s} is not a key attribute", each[0])
	}
	var keys []string
	for _, path := range routing.Paths() {
		names, err := pathNames(path)
		if err != nil || len(names) != 1 {
			return nil, errs.Errorf("{%s} is not a key attribute: what may change would leave a document in two places", path)
		}
		keys = append(keys, names[0])
	}
	return keys, nil
}

// route returns the routing of the document of c's item. The routing depends on the item's key alone, so it never
// changes. "" means that the document is routed by its id, or that the change has no document.
func (s *Sink) route(c *record.Change, hasDocument bool) (string, error) {
	if s.o.Routing == nil || !hasDocument {
		return "", nil
	}
	for _, name := range s.routingKeys {
		if _, ok := c.Keys.Get(name); !ok {
			return "", errs.Errorf(
				"search: routing %q: {%s} is not a key attribute of the table: what may change would leave a document in two places",
				s.o.Routing, redact.Field(name))
		}
	}
	text, missing, err := s.o.Routing.AppendText(nil, template.Scope{Change: c, Item: c.Keys, Mask: s.o.Mask})
	switch {
	case err != nil:
		return "", fmt.Errorf("search: routing %q: %w", s.o.Routing, err)
	case missing != "" || len(text) == 0:
		return "", nil
	case s.o.HashID:
		return s.hasher.hashOf("routing:" + string(text)), nil
	}
	return string(text), nil
}
