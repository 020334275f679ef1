package opensearch_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// A process stops if its index is exchanged while the process writes to it, in both modes. The process checks the index
// every few seconds. After the next check it writes nothing to the other index.
func TestApply_ExchangedIndex(t *testing.T) {
	t.Parallel()
	const empty = `{"settings":{"index":{"number_of_shards":1,"number_of_replicas":0}}}`
	for _, test := range []struct {
		name, want string
		exchange   func(t *testing.T, name, other string)
	}{
		{"the alias leads to another index", "the alias", func(t *testing.T, name, other string) {
			ask(t, roomy, http.MethodPut, "/"+other, empty)
			ask(t, roomy, http.MethodPost, "/_aliases", `{"actions":[{"remove":{"index":"`+name+`.tw1","alias":"`+name+`"}},{"add":{"index":"`+other+`","alias":"`+name+`"}}]}`)
		}},
		{"it is deleted and made again", "UUID", func(t *testing.T, name, other string) {
			mapping := ask(t, roomy, http.MethodGet, "/"+name+".tw1/_mapping", "")[name+".tw1"]
			ask(t, roomy, http.MethodDelete, "/"+name+".tw1", "")
			ask(t, roomy, http.MethodPut, "/"+name+".tw1", `{"mappings":`+jsonText(t, mapping.(map[string]any)["mappings"])+
				`,"aliases":{"`+name+`":{"is_write_index":true,"filter":{"bool":{"must_not":{"term":{"_tw.deleted":true}}}}}}}`)
		}},
	} {
		for _, mode := range []opensearch.Mode{opensearch.Exact, opensearch.Fast} {
			t.Run(test.name+"/"+jsonText(t, mode), func(t *testing.T) {
				t.Parallel()
				var passed atomic.Int64
				name := indexName()
				other := name + "-other"
				s := open(t, opensearch.Options{
					Mode: mode, Clock: func() time.Time { return time.Now().Add(time.Duration(passed.Load())) },
					Indexes: &opensearch.Indexes{Pipeline: name, Sink: "docs", Name: parse(t, name)},
				})
				if err := s.Open(t.Context()); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { ask(t, roomy, http.MethodDelete, "/"+name+".tw1,"+other+"?ignore_unavailable=true", "") })
				write := func(id string) error {
					rs, err := s.Apply(t.Context(), []search.Mutation{mutation(name, id, 1)})
					if err == nil {
						err = rs[0].Err
					}
					return err
				}
				if err := write("1"); err != nil {
					t.Fatal(err)
				}
				test.exchange(t, name, other)
				passed.Add(int64(5 * time.Second))
				err := write("2")
				if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "replay the changes since then") {
					t.Errorf("a write to another index: %v", err)
				}
				there := name + ".tw1," + other
				ask(t, roomy, http.MethodPost, "/"+there+"/_refresh?ignore_unavailable=true", "")
				found := ask(t, roomy, http.MethodGet, "/"+there+"/_count?ignore_unavailable=true&q=_id:2", "")
				if n := jsonText(t, found["count"]); n != "0" {
					t.Errorf("what was written: %v", found)
				}
			})
		}
	}
}

// The process checks all indexes of a template with two requests, however many there are.
func TestApply_IndexesAreConfirmedTogether(t *testing.T) {
	t.Parallel()
	var passed, reads atomic.Int64
	direct := &http.Transport{DisableKeepAlives: true}
	name, start := indexName(), time.Now() // the clock stands still, because creating five indexes may take seconds
	s := open(t, opensearch.Options{
		Clock: func() time.Time { return start.Add(time.Duration(passed.Load())) },
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				reads.Add(1)
			}
			return direct.RoundTrip(r)
		}),
		Indexes: &opensearch.Indexes{Pipeline: name, Sink: "docs", Name: parse(t, name+"-{A|index_name}"), MaxIndexes: 10},
	})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ask(t, roomy, http.MethodDelete, "/"+name+"-*", "") })
	var ms []search.Mutation
	for i := range 5 {
		ms = append(ms, mutation(name+"-"+strconv.Itoa(i), "a", 1))
	}
	for _, want := range []int64{-1, 0, 2} { // the indexes are created; no check is due; a check is due
		if want == 2 {
			passed.Add(int64(5 * time.Second))
		}
		reads.Store(0)
		rs, err := s.Apply(t.Context(), ms)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rs {
			if r.Err != nil {
				t.Fatalf("%s: %v", ms[i].Index, r.Err)
			}
		}
		if got := reads.Load(); want >= 0 && got != want {
			t.Errorf("%d reads, want %d", got, want)
		}
		for i := range ms {
			ms[i] = mutation(ms[i].Index, "a"+strconv.Itoa(int(want)), 1)
		}
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
