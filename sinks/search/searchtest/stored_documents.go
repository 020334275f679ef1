package searchtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// State returns every document of every index that a sink of the pipeline named test wrote. The keys of the map are
// made of the key of the item and the identity of the element. It returns an error if an item or element has two
// documents, or if a document does not name its change.
func State(ctx context.Context, store search.Reader) (map[string]string, error) {
	names, err := store.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	got := make(map[string]string)
	for _, name := range names {
		for d, err := range store.Documents(ctx, name) {
			if err != nil {
				return nil, err
			}
			doc, err := withoutMark(d.ID, d.Doc)
			if err != nil {
				return nil, err
			}
			key := keyOf(doc)
			if other, twice := got[key]; twice {
				return nil, fmt.Errorf("two documents of one item: %s and %s", other, d.Doc)
			}
			got[key] = show(doc)
		}
	}
	return got, nil
}

// withoutMark decodes a document, checks the mark of its change, and removes the mark.
func withoutMark(id string, text []byte) (doc map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	mark, _ := doc["_tw"].(map[string]any)
	if version, _ := mark["version"].(string); len(version) != 50 || mark["by"] != "test" || len(mark) != 2 {
		return nil, fmt.Errorf("document %s says %v of itself", id, mark)
	}
	delete(doc, "_tw")
	return doc, nil
}

// keyOf returns the key of a document's item. For the document of an element, it adds the element's identity.
func keyOf(doc map[string]any) string {
	key := fmt.Sprintf("%q %q", doc["PK"], doc["SK"])
	if line, ok := doc["Lines"].(map[string]any); ok {
		key += fmt.Sprintf(" %q", line["sku"])
	}
	return key
}

// OfType returns a condition that takes the items whose Type is kind. If kind is "", it returns nil, which takes all
// items.
func OfType(kind string) pipeline.ItemCondition {
	if kind == "" {
		return nil
	}
	return pipeline.ItemConditionFunc(func(item item.Image) (bool, error) {
		v, _ := item.Get("Type")
		text, _ := v.Text()
		return text == kind, nil
	})
}
