package sqlite_test

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
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
	t.Run("Elements", func(t *testing.T) {
		t.Parallel()
		s := ofElements("docs", "Order")
		s.Stream.Snapshots = true
		sinktest.Run(t, s)
	})
	t.Run("ElementsIndexByType", func(t *testing.T) {
		t.Parallel()
		sinktest.Run(t, ofElements("docs-{Type|index_name}", ""))
	})
}

// ofElements returns the suite of a sink that writes a document for each line.
func ofElements(index, kind string) sinktest.Suite {
	return searchtest.OfElementsSuite(suiteOf(index, kind, searchtest.OfElements), kind)
}

// suite returns the suite of a sink that writes the items whose Type is kind. If kind is "", it writes all items that
// name an index. index is the template of the index name.
func suite(index, kind string) sinktest.Suite {
	return suiteOf(index, kind, func(o search.Options) search.Options { return o })
}

func suiteOf(index, kind string, with func(search.Options) search.Options) sinktest.Suite {
	return sinktest.Suite{
		Open: func(dir string) (sinktest.Store, error) {
			store, err := openIn(context.Background(), dir)
			if err != nil {
				return sinktest.Store{}, err
			}
			return sinktest.Store{
				Sink: func(f *sinktest.Faults) (pipeline.Sink, error) { return newSink(faulty{store, f}, index, kind, with) },
				Flawed: func(f *sinktest.Faults) (pipeline.Sink, error) {
					return newFlawed(faulty{store, f}, index, kind, with)
				},
				State: func() (map[string]string, error) { return searchtest.State(context.Background(), store) },
				Close: store.Close,
			}, nil
		},
		Flaws: true,
		Model: func(s *sinktest.Stream) map[string]string { return searchtest.Model(s, kind) },
	}
}

func newSink(store search.Store, index, kind string, with func(search.Options) search.Options) (pipeline.Sink, error) {
	tmpl, err := template.Parse(index, template.Options{})
	if err != nil {
		return nil, err
	}
	return search.New(with(search.Options{Pipeline: "test", Store: store, Index: tmpl, When: searchtest.OfType(kind)}))
}

// newFlawed returns a sink with settings that fail for the flawed images of the suite.
func newFlawed(store search.Store, index, kind string, with func(search.Options) search.Options) (pipeline.Sink, error) {
	o, err := searchtest.Flawed(index, kind)
	if err != nil {
		return nil, err
	}
	o.Pipeline, o.Store = "test", searchtest.Refusing{Store: store}
	return search.New(with(o))
}

// faulty is a store whose calls fail as the suite requires.
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
