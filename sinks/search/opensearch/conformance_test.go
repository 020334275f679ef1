package opensearch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// unmapped takes any item: what is in its fields is kept and not indexed.
const unmapped = `{"settings":{"number_of_shards":1,"number_of_replicas":0},"mappings":{"dynamic":false}}`

// The suite holds in mode exact whatever the times of changes are, and in mode fast as
// far as its contract reaches: where no two changes of an item share a second.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("Exact", func(t *testing.T) {
		t.Parallel()
		s := suite(t, opensearch.Exact, "", "Order")
		s.Stream.Snapshots = true
		sinktest.Run(t, s)
	})
	if testing.Short() {
		return // the others are of the same code
	}
	t.Run("ExactIndexByType", func(t *testing.T) {
		t.Parallel()
		sinktest.Run(t, suite(t, opensearch.Exact, "-{Type|index_name}", ""))
	})
	t.Run("Fast", func(t *testing.T) {
		t.Parallel()
		s := suite(t, opensearch.Fast, "", "Order")
		s.Stream.Snapshots = true
		sinktest.Run(t, s)
	})
}

// suite is a search sink of the items whose Type is kind ("": all that name their
// index) in the index named by a template. All its stores share the indexes, and tell
// their documents apart by the beginnings of ids: a server makes an index slowly.
func suite(t *testing.T, mode opensearch.Mode, index, kind string) sinktest.Suite {
	w := newWorld(t)
	o := w.options(index, unmapped)
	o.Mode = mode
	name := o.Indexes.Name
	return sinktest.Suite{
		Checks: 2,
		Open: func(dir string) (sinktest.Store, error) {
			o := o
			o.URL = server(t, roomy)
			store, err := opensearch.New(o)
			if err == nil {
				err = store.Open(context.Background())
			}
			if err != nil {
				return sinktest.Store{}, err
			}
			sum := sha256.Sum256([]byte(dir))
			mine := share{Store: store, prefix: hex.EncodeToString(sum[:8]) + ":", fast: mode == opensearch.Fast}
			return sinktest.Store{
				Sink: func(f *sinktest.Faults) (pipeline.Sink, error) {
					mine := mine
					mine.faults = f
					so := search.Options{Pipeline: "test", Store: mine, Index: name}
					if kind != "" {
						so.When = pipeline.ItemConditionFunc(func(item pipeline.Image) (bool, error) {
							v, _ := item.Get("Type")
							text, _ := v.Text()
							return text == kind, nil
						})
					}
					return search.New(so)
				},
				State: mine.state,
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

// share is the part of a store whose ids begin in one way. Its calls fail as the suite
// wants.
type share struct {
	*opensearch.Store
	prefix string
	faults *sinktest.Faults
	fast   bool
}

func (s share) Apply(ctx context.Context, ms []search.Mutation) (rs []search.Result, err error) {
	mine := make([]search.Mutation, len(ms))
	for i, m := range ms {
		m.ID = s.prefix + m.ID
		if s.fast {
			m.Time = secondOf(m.Version)
		}
		mine[i] = m
	}
	err = s.faults.Call(len(mine), func(n int) error {
		rs, err = s.Store.Apply(ctx, mine[:n])
		return err
	})
	return rs, err
}

// secondOf is a second that no other change of an item has, of what the suite's streams
// hold: later for a later version. A backfilled state has no time.
func secondOf(v pipeline.Version) time.Time {
	sequence := strings.TrimLeft(v.String()[10:], "0")
	if sequence == "" {
		return time.Time{}
	}
	var last int64
	for _, digit := range sequence[len(sequence)-15:] {
		last = last*10 + int64(digit-'0')
	}
	return time.Unix(int64(len(sequence))*1e15+last, 0)
}

// state is every document of every index, by the key of its item, as plain JSON.
func (s share) state() (map[string]string, error) {
	ctx := context.Background()
	names, err := s.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	got := make(map[string]string)
	for _, name := range names {
		for d, err := range s.Documents(ctx, name) {
			if err != nil {
				return nil, err
			}
			if !strings.HasPrefix(d.ID, s.prefix) {
				continue
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
