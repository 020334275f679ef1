package bleve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/bleve"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

func TestConformance(t *testing.T) {
	t.Run("OneIndex", func(t *testing.T) {
		t.Parallel()
		s := suite("docs", "Order")
		s.Stream.Snapshots = true
		sinktest.Run(t, s)
	})
	t.Run("IndexByType", func(t *testing.T) {
		t.Parallel()
		sinktest.Run(t, suite("docs-{Type|index_name}", ""))
	})
}

// suite is a search sink of the items whose Type is kind ("": all that name their
// index) in the index named by a template.
func suite(index, kind string) sinktest.Suite {
	return sinktest.Suite{
		Open: func(dir string) (sinktest.Store, error) {
			store, err := bleve.New(bleve.Options{Dir: dir})
			if err != nil {
				return sinktest.Store{}, err
			}
			return sinktest.Store{
				Sink:  func(f *sinktest.Faults) (pipeline.Sink, error) { return newSink(faulty{store, f}, index, kind) },
				State: func() (map[string]string, error) { return state(store) },
				Close: store.Close,
			}, nil
		},
		Model: func(s *sinktest.Stream) map[string]string {
			want := make(map[string]string)
			for _, item := range s.Items() {
				if typ := item.Text("Type"); typ != "" && (kind == "" || typ == kind) {
					doc := plain(map[string]any{"M": item})
					want[keyOf(doc.(map[string]any))] = show(doc)
				}
			}
			return want
		},
	}
}

func newSink(store search.Store, index, kind string) (pipeline.Sink, error) {
	tmpl, err := template.Parse(index, template.Options{})
	if err != nil {
		return nil, err
	}
	o := search.Options{Pipeline: "test", Store: store, Index: tmpl}
	if kind != "" {
		o.When = pipeline.ItemConditionFunc(func(item pipeline.Image) (bool, error) {
			v, _ := item.Get("Type")
			text, _ := v.Text()
			return text == kind, nil
		})
	}
	return search.New(o)
}

// faulty is a store whose calls fail as the suite wants.
type faulty struct {
	search.Store
	faults *sinktest.Faults
}

func (s faulty) Apply(ctx context.Context, ms []search.Mutation) (rs []search.Result, err error) {
	err = s.faults.Call(len(ms), func(n int) error {
		rs, err = s.Store.Apply(ctx, ms[:n])
		return err
	})
	return rs, err
}

// state is every document of every index, by the key of its item, as plain JSON.
func state(store *bleve.Store) (map[string]string, error) {
	ctx := context.Background()
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
			var doc map[string]any
			decoder := json.NewDecoder(bytes.NewReader(d.Doc))
			decoder.UseNumber()
			if err := decoder.Decode(&doc); err != nil {
				return nil, fmt.Errorf("%w in %s", err, d.Doc)
			}
			own, _ := doc["_tw"].(map[string]any)
			if version, _ := own["version"].(string); len(version) != 50 || own["by"] != "test" || len(own) != 2 {
				return nil, fmt.Errorf("document %s says %v of itself", d.ID, own)
			}
			delete(doc, "_tw")
			if other, twice := got[keyOf(doc)]; twice {
				return nil, fmt.Errorf("two documents of one item: %s and %s", other, d.Doc)
			}
			got[keyOf(doc)] = show(doc)
		}
	}
	return got, nil
}

func keyOf(doc map[string]any) string { return fmt.Sprintf("%q %q", doc["PK"], doc["SK"]) }

// show is plain JSON as text that is equal for equal documents: numbers by what
// they are worth.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make(map[string]string)
		for name, m := range v {
			parts[name] = show(m)
		}
		return fmt.Sprintf("%q", parts) // fmt prints maps by key
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			return "no number: " + v.String()
		}
		return "number " + r.RatString()
	default:
		return fmt.Sprintf("%T %v", v, v)
	}
}

// plain is a DynamoDB value as plain JSON, as the documentation of search.NumberExact
// says it: made of the generator's maps, without a planner's help.
func plain(attr map[string]any) any {
	for tag, v := range attr {
		switch v := v.(type) {
		case sinktest.Item:
			doc := make(map[string]any)
			for name, a := range maps.All(v) {
				doc[name] = plain(a)
			}
			return doc
		case []sinktest.Attr:
			list := make([]any, len(v))
			for i, a := range v {
				list[i] = plain(a)
			}
			return list
		case []string:
			list := make([]any, len(v))
			for i, s := range v {
				list[i] = s
				if tag == "NS" {
					list[i] = number(s)
				}
			}
			return list
		case string:
			if tag == "N" {
				return number(v)
			}
			return v
		case bool:
			if tag == "NULL" {
				return nil
			}
			return v
		}
	}
	return "no value"
}

func number(n string) any {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(n, "-"), ".")
	digits := strings.TrimLeft(whole+strings.TrimRight(fraction, "0"), "0")
	if strings.Trim(fraction, "0") != "" && len(digits) > 15 {
		return strings.TrimRight(n, "0")
	}
	return json.Number(n)
}
