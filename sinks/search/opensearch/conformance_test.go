package opensearch_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// unmapped is a mapping for all items: the index stores their attributes and does not index them.
const unmapped = `{"settings":{"number_of_shards":1,"number_of_replicas":0},"mappings":{"dynamic":false}}`

// In mode exact the suite passes whatever the times of changes are. In mode fast it passes if no two changes of an item
// were made in the same second, as the contract of that mode says.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("Exact", func(t *testing.T) {
		t.Parallel()
		s := suite(t, opensearch.Exact, "", "Order")
		s.Stream.Snapshots = true
		sinktest.Run(t, s)
	})
	t.Run("ExactElements", func(t *testing.T) {
		t.Parallel()
		s := searchtest.OfElementsSuite(suiteOf(t, opensearch.Exact, "", "Order", searchtest.OfElements), "Order")
		s.Stream.Snapshots = true
		sinktest.Run(t, s)
	})
	if testing.Short() {
		return // the other suites run the same code
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

// suite returns the suite of a sink that writes the items whose Type is kind. If kind is "", it writes all items that
// name an index. The template of the index name ends in index. All stores of the suite share the indexes, because the
// server creates indexes slowly. The ids of each store begin with another prefix.
func suite(t *testing.T, mode opensearch.Mode, index, kind string) sinktest.Suite {
	return suiteOf(t, mode, index, kind, func(o search.Options) search.Options { return o })
}

func suiteOf(t *testing.T, mode opensearch.Mode, index, kind string, with func(search.Options) search.Options) sinktest.Suite {
	w := newWorld(t)
	o := w.options(index, unmapped)
	o.Mode = mode
	name := o.Indexes.Name
	return sinktest.Suite{
		Checks:   2,
		Flaws:    true,
		LastWins: mode == opensearch.Fast,
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
					return search.New(with(search.Options{Pipeline: "test", Store: mine, Index: name, When: searchtest.OfType(kind)}))
				},
				Flawed: func(f *sinktest.Faults) (pipeline.Sink, error) {
					mine := mine
					mine.faults = f
					o, err := searchtest.Flawed(name.String(), kind)
					if err != nil {
						return nil, err
					}
					o.Pipeline, o.Store = "test", searchtest.Refusing{Store: mine}
					return search.New(with(o))
				},
				State: func() (map[string]string, error) { return searchtest.State(context.Background(), mine) },
				Close: store.Close,
			}, nil
		},
		Model: func(s *sinktest.Stream) map[string]string { return searchtest.Model(s, kind) },
	}
}

// share is the part of a store whose ids begin with prefix. Its calls fail as the suite requires.
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

// secondOf returns a second that no other change of an item has in the suite's streams. A later version has a later
// second. A change of a backfill has no time.
func secondOf(v record.Version) time.Time {
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

// Documents yields the documents of the part.
func (s share) Documents(ctx context.Context, index string) iter.Seq2[search.Document, error] {
	return func(yield func(search.Document, error) bool) {
		for d, err := range s.Store.Documents(ctx, index) {
			if (err != nil || strings.HasPrefix(d.ID, s.prefix)) && !yield(d, err) {
				return
			}
		}
	}
}
