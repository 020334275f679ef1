package handoff

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/state"
)

var onOpenSearch = flag.Int("opensearch", 30, "how many worlds to play on OpenSearch in each mode; one takes as long as a hundred on files")

// The rules hold in an index on OpenSearch as they do in the embedded index, in both modes. If a protection is left
// out there, documents end wrong. This shows that the worlds contain the events that it protects against.
func TestRules_OnOpenSearch(t *testing.T) {
	for _, mode := range []opensearch.Mode{opensearch.Exact, opensearch.Fast} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p, indexes := newPlayer(t), openIndexes(t, mode)
			embedded := p.stores
			play := func(n int, without Rules) Result {
				p.stores = embedded.WithDocuments(indexes.of(fmt.Sprintf("w%d", n)), mode == opensearch.Fast)
				return p.play(uint64(n), without)
			}
			for n := range *onOpenSearch {
				if r := play(n, Rules{}); len(r.Wrong) > 0 {
					t.Errorf("seed %d:\n%s", n, strings.Join(r.Story, "\n"))
				}
			}
			for n := *onOpenSearch; len(play(n, Rules{BeforeH: true}).Wrong) == 0; n++ {
				if n == 10**onOpenSearch+100 {
					t.Fatal("no world ends wrong with a snapshot of before H")
				}
			}
		})
	}
}

// indexes holds the indexes of many worlds on OpenSearch. OpenSearch creates an index slowly, so all worlds share
// them. The documents of each world have their own ids.
type indexes struct {
	*opensearch.Store
	prefix string // of their names
}

func openIndexes(t *testing.T, mode opensearch.Mode) indexes {
	t.Helper()
	url := os.Getenv("TABLEWAKE_TEST_OPENSEARCH")
	if url == "" {
		t.Fatal("TABLEWAKE_TEST_OPENSEARCH is not set: run `go run ./test/servers -only dynamodb,opensearch -- go test ./test/handoff`")
	}
	prefix := "handoff-" + strings.ToLower(rand.Text()) + "-"
	name, err := template.Parse(prefix+"{Status}", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := opensearch.New(opensearch.Options{URL: url, Mode: mode, Indexes: &opensearch.Indexes{
		Pipeline: pipelineName, Sink: prefix, Name: name, OnDemand: true,
		Mapping: json.RawMessage(`{"settings":{"number_of_shards":1,"number_of_replicas":0},"mappings":{"dynamic":false}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		r, err := http.NewRequest(http.MethodDelete, url+"/"+prefix+"*", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return indexes{s, prefix}
}

// of returns the documents of one world.
func (x indexes) of(world string) DocumentStore { return documentsOfWorld{x, world} }

type documentsOfWorld struct {
	indexes
	world string
}

// name returns the shared index of an index of the world.
func (d documentsOfWorld) name(index string) string {
	return d.prefix + strings.TrimPrefix(index, d.world+"-")
}

func (d documentsOfWorld) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	shared := make([]search.Mutation, len(ms))
	for i, m := range ms {
		m.Index, m.ID = d.name(m.Index), d.world+":"+m.ID
		shared[i] = m
	}
	return d.Store.Apply(ctx, shared)
}

func (d documentsOfWorld) Documents(ctx context.Context, index string) iter.Seq2[search.Document, error] {
	return func(yield func(search.Document, error) bool) {
		for doc, err := range d.Store.Documents(ctx, d.name(index)) {
			id, own := strings.CutPrefix(doc.ID, d.world+":")
			if err == nil && !own {
				continue
			}
			if doc.ID = id; !yield(doc, err) {
				return
			}
		}
	}
}

func (d documentsOfWorld) ReadStored(ctx context.Context, index, id, routing string) (search.StoredDocument, error) {
	return d.Store.ReadStored(ctx, d.name(index), d.world+":"+id, routing)
}

func (d documentsOfWorld) RepairDocuments(ctx context.Context, ds []search.DocumentRepair) ([]search.Result, error) {
	shared := make([]search.DocumentRepair, len(ds))
	for i, r := range ds {
		r.Next.Index, r.Next.ID = d.name(r.Next.Index), d.world+":"+r.Next.ID
		shared[i] = r
	}
	return d.Store.RepairDocuments(ctx, shared)
}

func (d documentsOfWorld) ListDocuments(ctx context.Context, index string, l state.Listing) iter.Seq2[search.ListedDocument, error] {
	return func(yield func(search.ListedDocument, error) bool) {
		for doc, err := range d.Store.ListDocuments(ctx, d.name(index), l) {
			id, own := strings.CutPrefix(doc.ID, d.world+":")
			if err == nil && !own {
				continue
			}
			if doc.ID, doc.Item = id, item.Key(id); !yield(doc, err) {
				return
			}
		}
	}
}

// Repairs hold in an index on OpenSearch as they do in the embedded index, in both modes.
func TestRepair_OnOpenSearch(t *testing.T) {
	for _, mode := range []opensearch.Mode{opensearch.Exact, opensearch.Fast} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p, indexes := newPlayer(t), openIndexes(t, mode)
			embedded := p.stores
			for n := range (*onOpenSearch + 5) / 6 { // one world takes as long as several of TestRules_OnOpenSearch
				p.stores = embedded.WithDocuments(indexes.of(fmt.Sprintf("r%d", n)), mode == opensearch.Fast)
				if r := p.repaired(uint64(n), RepairRules{}); len(r.Wrong) > 0 {
					t.Errorf("seed %d: %v\n%s", n, r.Wrong, strings.Join(r.Story, "\n"))
				}
			}
		})
	}
}
