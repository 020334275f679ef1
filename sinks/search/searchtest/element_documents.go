package searchtest

import (
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// OfElements returns o with a document for each line of an item. Only lines that have a quantity get a document.
func OfElements(o search.Options) search.Options {
	o.ForEach = sinktest.LinesBy("sku")
	o.When = sinktest.ElementCondition{ItemCondition: o.When, Element: sinktest.HasQuantity}
	return o
}

// OfElementsSuite returns s for a sink with the options of [OfElements]. The sink takes the items whose Type is kind.
func OfElementsSuite(s sinktest.Suite, kind string) sinktest.Suite {
	s.Refused = sinktest.IsDuplicate
	s.Model = func(s *sinktest.Stream) map[string]string { return Elements(s, kind) }
	return s
}

// Elements is [Model] for a sink with the options of [OfElements].
func Elements(s *sinktest.Stream, kind string) map[string]string {
	want := make(map[string]string)
	for _, item := range s.Items() {
		if typ := item.Text("Type"); typ == "" || kind != "" && typ != kind {
			continue
		}
		for key, doc := range linesOf(item) {
			want[key] = doc
		}
	}
	return want
}

// linesOf returns the documents of an item's lines. It returns nil if two lines have the same identity, because the
// change of such an item is a dead letter.
func linesOf(item sinktest.Item) map[string]string {
	docs := make(map[string]string)
	seen := make(map[string]bool)
	for _, line := range item.Lines() {
		sku := line.Text("sku")
		if sku != "" && seen[sku] {
			return nil
		}
		seen[sku] = true
		hasDocument := sku != "" && line["qty"] != nil
		if !hasDocument {
			continue
		}
		doc, _ := plainJSON(map[string]any{"M": item}).(map[string]any)
		doc["Lines"] = plainJSON(map[string]any{"M": line})
		docs[keyOf(doc)] = show(doc)
	}
	return docs
}
