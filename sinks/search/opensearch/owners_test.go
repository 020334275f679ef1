package opensearch_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
)

func TestOwners(t *testing.T) {
	t.Parallel()
	searchtest.RunOwners(t, searchtest.OwnerSuite{
		Open: func(ctx context.Context, _ string, owner search.Owner, index *template.Template) (searchtest.OwnedStore, error) {
			s, err := opensearch.New(opensearch.Options{URL: server(t, roomy), Indexes: &opensearch.Indexes{
				Pipeline: owner.Pipeline, Sink: owner.Sink, Name: index, Mapping: []byte(small),
			}})
			if err != nil {
				return nil, err
			}
			if err := s.Open(ctx); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return s, nil
		},
		Name: func(t *testing.T) string {
			w := newWorld(t)
			t.Cleanup(func() {
				for _, owner := range []string{",one", ",two", "-others,one"} {
					ask(t, roomy, http.MethodDelete, "/tablewake/_doc/"+w.pipeline+owner, "")
				}
			})
			return w.pipeline
		},
	})
}
