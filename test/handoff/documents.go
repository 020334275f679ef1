package handoff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
)

// documents returns a search sink.
func (w *World) documents(index string) (sink, error) {
	name := w.id + "-docs"
	if index != "" {
		name = w.id + "-moving"
	}
	t, err := template.Parse(name+index, template.Options{})
	if err != nil {
		return sink{}, err
	}
	s, err := search.New(search.Options{Pipeline: pipelineName, Birth: w.id, Store: w.stores.documents, Index: t, When: isOrder})
	if err != nil {
		return sink{}, err
	}
	indexes := []string{name}
	if index != "" {
		indexes = []string{name + "-paid", name + "-shipped"}
	}
	want := func(w *World) map[string]string {
		docs := make(map[string]string)
		for i, m := range w.table.now {
			if !m.isOrder() || index != "" && m.Status == "" {
				continue
			}
			in := name
			if index != "" {
				in += "-" + m.Status
			}
			docs[in+" "+keyOf(i)+",o"] = m.document(i)
		}
		return docs
	}
	return sink{name: name, live: s, backfill: s, got: w.documentsIn(indexes...), want: want}, nil
}

// elementDocuments returns a search sink with a document for each element of a list.
func (w *World) elementDocuments() (sink, error) {
	name := w.id + "-lines"
	t, err := template.Parse(name, template.Options{})
	if err != nil {
		return sink{}, err
	}
	path, err := item.ParsePath("Lines")
	if err != nil {
		return sink{}, err
	}
	s, err := search.New(search.Options{
		Pipeline: pipelineName, Birth: w.id, Store: w.stores.documents, Index: t, When: isOrder, ForEach: &elements.Spec{Path: path},
	})
	if err != nil {
		return sink{}, err
	}
	want := func(w *World) map[string]string {
		docs := make(map[string]string)
		for i, m := range w.table.now {
			if !m.isOrder() {
				continue
			}
			for at := range m.Lines {
				docs[fmt.Sprintf("%s %s,o::%d", name, keyOf(i), at)] = m.elementDocument(i, at)
			}
		}
		return docs
	}
	return sink{name: name, live: s, backfill: s, got: w.documentsIn(name), want: want}, nil
}

// documentsIn returns a function that reads the documents of indexes.
func (w *World) documentsIn(indexes ...string) func(ctx context.Context) (map[string]string, error) {
	return func(ctx context.Context) (map[string]string, error) {
		found := make(map[string]string)
		for _, index := range indexes {
			for d, err := range w.stores.documents.Documents(ctx, index) {
				if errors.Is(err, search.ErrNoIndex) {
					break
				}
				if err != nil {
					return nil, err
				}
				if found[index+" "+d.ID], err = fields(d.Doc); err != nil {
					return nil, err
				}
			}
		}
		return found, nil
	}
}

// fields returns the fields of a document as text, without those of tablewake.
func fields(doc []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		return "", fmt.Errorf("document %s: %w", doc, err)
	}
	delete(all, "_tw")
	return fmt.Sprint(all), nil
}

// document returns the fields of an item's document as text.
func (m *image) document(item int) string {
	var lines []any
	for at := range m.Lines {
		lines = append(lines, m.line(at))
	}
	doc := m.withoutLines(item)
	if lines != nil {
		doc["Lines"] = lines
	}
	return fmt.Sprint(doc)
}

// elementDocument returns the fields of the document of one line as text.
func (m *image) elementDocument(item, at int) string {
	doc := m.withoutLines(item)
	doc["Lines"] = m.line(at)
	return fmt.Sprint(doc)
}

func (m *image) line(at int) map[string]any {
	return map[string]any{"sku": m.Lines[at].SKU, "qty": m.Lines[at].Qty}
}

func (m *image) withoutLines(item int) map[string]any {
	doc := map[string]any{"PK": keyOf(item), "SK": "o", "Type": m.Type, "Total": m.Total}
	if m.Status != "" {
		doc["Status"] = m.Status
	}
	if m.Email != "" {
		doc["Email"] = m.Email
	}
	return doc
}
