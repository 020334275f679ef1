package opensearch_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/state"
)

// world contains the index names of one test on a real server. No other test uses these names. The indexes are removed
// when the test ends.
type world struct {
	testing.TB
	pipeline string
}

func newWorld(t testing.TB) *world {
	w := &world{t, "osindex-" + strings.ToLower(rand.Text())}
	t.Cleanup(func() {
		ask(t, roomy, http.MethodDelete, "/"+w.pipeline+"*", "")
		ask(t, roomy, http.MethodDelete, "/tablewake/_doc/"+w.pipeline+",docs", "")
	})
	return w
}

// index returns an index name of the world that ends in rest.
func (w *world) index(rest string) string { return w.pipeline + rest }

// options returns the options of the sink docs. The template of its index name ends in index.
func (w *world) options(index, mapping string) opensearch.Options {
	return opensearch.Options{Indexes: &opensearch.Indexes{
		Pipeline: w.pipeline, Sink: "docs", Name: parse(w, w.index(index)), Mapping: json.RawMessage(mapping),
	}}
}

// begin opens a store and prepares the server for its sink.
func (w *world) begin(o opensearch.Options) *opensearch.Store {
	w.Helper()
	s := open(w, o)
	if err := s.Open(w.Context()); err != nil {
		w.Fatal(err)
	}
	return s
}

// refused opens a store whose sink must be refused with a fatal error, and returns the text of the error.
func (w *world) refused(o opensearch.Options) string {
	w.Helper()
	err := open(w, o).Open(w.Context())
	if err == nil {
		w.Fatal("the sink begins")
	}
	if !pipeline.IsFatal(err) {
		w.Errorf("%v is not fatal", err)
	}
	return err.Error()
}

// renew makes the store forget the sink's former output, so that the sink can begin again.
func (w *world) renew(s *opensearch.Store) {
	w.Helper()
	if err := s.Output(state.OutputRef{}).Forget(w.Context()); err != nil {
		w.Fatal(err)
	}
}

const small = `{"settings":{"number_of_shards":1,"number_of_replicas":0}}`

// Open creates the index from the configuration, behind an alias that hides tombstones.
func TestIndexIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(w.options("", `{"settings":{"index":{"number_of_shards":2,"number_of_replicas":0},
		"analysis":{"analyzer":{"plain":{"type":"custom","tokenizer":"standard","filter":["lowercase"]}}}},
		"mappings":{"dynamic":"strict","_meta":{"team":"shop"},"properties":{"Name":{"type":"text","analyzer":"plain","store":false}}}}`))
	all := ask(t, roomy, http.MethodGet, "/"+w.pipeline+"?flat_settings=true", "")
	made, ok := all[w.pipeline+".tw1"].(map[string]any)
	if !ok || len(all) != 1 {
		t.Fatalf("there are %v", all)
	}
	got, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"` + w.pipeline + `":{"filter":{"bool":{"must_not":{"term":{"_tw.deleted":true}}}},"is_write_index":true}`,
		`"dynamic":"strict"`, `"analyzer":"plain"`, `"team":"shop"`,
		`"tablewake":{"index":"` + w.pipeline + `","pipeline":"` + w.pipeline + `","sink":"docs"}`,
		`"index.number_of_shards":"2"`, `"deleted":{"type":"boolean"}`, `"gone":{"type":"date"}`,
	} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}
}

// Open compares the existing index with the configuration each time, and never alters the index. Fields of dynamic
// mapping, and parameters with their default value, are not differences.
func TestIndexIsNeverAltered(t *testing.T) {
	t.Parallel()
	const mapping = `{"settings":{"number_of_shards":1,"number_of_replicas":0,"refresh_interval":"2s"},
		"mappings":{"properties":{"n":{"type":"long","coerce":true,"index":true},"Name":{"type":"text"},"Address":{"type":"object","properties":{"City":{"type":"keyword"}}},"a.b":{"type":"keyword"}}}}`
	w := newWorld(t)
	s := w.begin(w.options("", mapping))
	apply(t, s, mutation(w.pipeline, "a", 1, `"added":"by the server"`))
	w.begin(w.options("", mapping))
	w.begin(w.options("", strings.NewReplacer(`"number_of_shards":1`, `"index":{"number_of_shards":"1"}`, `"a.b":{"type":"keyword"}`, `"a":{"properties":{"b":{"type":"keyword"}}}`).Replace(mapping)))

	for change, want := range map[string]string{
		`"type":"long"=>"type":"double"`:                                        "mappings.properties.n.type was long and is double",
		`"number_of_shards":1=>"number_of_shards":2`:                            "settings.index.number_of_shards was 1 and is 2",
		`,"refresh_interval":"2s"=>`:                                            "settings.index.refresh_interval was 2s and is not set",
		`"type":"text"=>"type":"text","analyzer":"simple"`:                      "mappings.properties.Name.analyzer was not set and is simple",
		`"Name":{"type":"text"}=>"Name":{"type":"text"},"x":{"type":"keyword"}`: "mappings.properties.x.type was not set and is keyword",
	} {
		from, to, _ := strings.Cut(change, "=>")
		got := w.refused(w.options("", strings.Replace(mapping, from, to, 1)))
		for _, part := range []string{want, "index " + w.pipeline, "another index name"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", change, got, part)
			}
		}
	}

	// Somebody else alters the index.
	ask(t, roomy, http.MethodPut, "/"+w.pipeline+".tw1/_settings", `{"refresh_interval":"5s"}`)
	if got := w.refused(w.options("", mapping)); !strings.Contains(got, "settings.index.refresh_interval is 5s there, and 2s in the file") {
		t.Errorf("a setting that was altered: %s", got)
	}
	ask(t, roomy, http.MethodPut, "/"+w.pipeline+".tw1/_settings", `{"refresh_interval":"2s"}`)
	w.begin(w.options("", mapping))
	ask(t, roomy, http.MethodPost, "/_aliases", `{"actions":[{"remove":{"index":"`+w.pipeline+`.tw1","alias":"`+w.pipeline+`"}},{"add":{"index":"`+w.pipeline+`.tw1","alias":"`+w.pipeline+`"}}]}`)
	if got := w.refused(w.options("", mapping)); !strings.Contains(got, "has lost its filter") {
		t.Errorf("an alias without its filter: %s", got)
	}
}

// Open recognises each mapping that it created, even if the server spells the mapping differently.
func TestIndexIsRecognised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options("", `{
		"settings":{"number_of_shards":"1","number_of_replicas":0,"index.max_result_window":20000,"sort.field":"num","sort.order":["asc"],
			"query":{"default_field":["a","b"]},"similarity":{"x":{"type":"BM25","b":0.50}},"codec":"best_compression","refresh_interval":-1},
		"mappings":{"date_detection":false,"numeric_detection":false,"dynamic":true,
			"dynamic_templates":[{"s":{"match_mapping_type":"string","mapping":{"type":"keyword"}}}],
			"properties":{
				"a":{"type":"text","index_options":"positions","norms":true,"similarity":"x","fields":{"k":{"type":"keyword","ignore_above":256}}},
				"d":{"type":"date","format":"epoch_second||strict_date_optional_time"},"g":{"type":"geo_point"},"e":{"type":"object","enabled":false},
				"dyn":{"type":"object","dynamic":"strict"},"sub":{"properties":{"ne":{"type":"keyword","null_value":"none"},"o.p":{"type":"ip"}}},
				"u":{"type":"unsigned_long"},"f":{"type":"flat_object"},"al":{"type":"alias","path":"a"},
				"num":{"type":"double","index":false,"doc_values":true},"copy":{"type":"text","copy_to":["a"],"boost":1.0},"properties":{"type":"keyword"}}}}`)
	s := w.begin(o)
	apply(t, s, mutation(w.pipeline, "a", 1, `"num":1.5`, `"new":{"properties":"x"}`))
	w.begin(o)
	ask(t, roomy, http.MethodDelete, "/tablewake/_doc/"+w.pipeline+",docs", "")
	w.begin(o)
}

// The store never touches an index or an alias that its sink did not create.
func TestNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask(t, roomy, http.MethodPut, "/"+w.index("-theirs"), small)
	if got := w.refused(w.options("-theirs", small)); !strings.Contains(got, "there is an index "+w.index("-theirs")) || !strings.Contains(got, "reindex it") {
		t.Errorf("an index of the name: %s", got)
	}
	ask(t, roomy, http.MethodPut, "/"+w.index("-other"), `{"aliases":{"`+w.index("-alias")+`":{}},`+small[1:])
	if got := w.refused(w.options("-alias", small)); !strings.Contains(got, "there is an alias "+w.index("-alias")+" of index "+w.index("-other")) {
		t.Errorf("an alias of the name: %s", got)
	}
	w.begin(w.options("-mine", small))
	other := w.options("-mine", small)
	other.Indexes.Sink = "others"
	t.Cleanup(func() { ask(t, roomy, http.MethodDelete, "/tablewake/_doc/"+w.pipeline+",others", "") })
	if got := w.refused(other); !strings.Contains(got, `belongs to the sink "docs" of pipeline "`+w.pipeline) {
		t.Errorf("another sink's index: %s", got)
	}
	if got := w.refused(w.options("-bad", `{"properties":{"Name":{"type":"txet"}}}`)); !strings.Contains(got, "mapper_parsing_exception") || !strings.Contains(got, "search.mapping") {
		t.Errorf("a mapping that the server does not take: %s", got)
	}
}

// An index of a template is created with its first document. Many processes that write at the same time create one
// index.
func TestManyMakeOneIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all sync.WaitGroup
	for i := range 4 {
		s := w.begin(w.options("-{Tenant}", small))
		if names, err := s.Indexes(t.Context()); err != nil || len(names) != 0 && i == 0 {
			t.Fatalf("on start there are %v (%v)", names, err)
		}
		for n := range 2 {
			all.Go(func() {
				rs, err := s.Apply(t.Context(), muts(w.index("-acme"), i*2+n))
				if err != nil || rs[0].Err != nil {
					t.Errorf("%v, %v", err, rs)
				}
			})
		}
	}
	all.Wait()
	s := w.begin(w.options("-{Tenant}", small))
	names, err := s.Indexes(t.Context())
	if err != nil || len(names) != 1 || names[0] != w.index("-acme") {
		t.Errorf("there are %v (%v)", names, err)
	}
	if docs := documents(t, s, w.index("-acme")); len(docs) != 8 {
		t.Errorf("of 8 documents %d were written", len(docs))
	}
}

// A deleted index is not created again until the sink begins again. Neither the store nor the server creates it, even
// during writes.
func TestIndexThatIsGoneIsLost(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-{Tenant}"} {
		w := newWorld(t)
		name := w.index(strings.ReplaceAll(suffix, "{Tenant}", "acme"))
		s := w.begin(w.options(suffix, small))
		apply(t, s, mutation(name, "a", 1))
		ask(t, roomy, http.MethodDelete, "/"+name+".tw1", "")
		for range 2 {
			rs, err := s.Apply(t.Context(), []search.Mutation{mutation(name, "b", 2), tombstone(name, "c", 1)})
			if err == nil {
				err = rs[0].Err
			}
			lost, ok := errors.AsType[*state.LostError](err)
			if !ok || !pipeline.IsFatal(err) || lost.Sink != "docs" || !strings.Contains(lost.What, "index "+name+" is missing") {
				t.Fatalf("%v, %v", rs, err)
			}
		}
		if got := w.refused(w.options(suffix, small)); !strings.Contains(got, "index "+name+" is missing") {
			t.Errorf("an index that was deleted: %s", got)
		}
		w.renew(s)
		apply(t, w.begin(w.options(suffix, small)), mutation(name, "b", 2))
	}
}

// The UUID shows that an index was deleted and created again by other means, such as from a snapshot.
func TestIndexThatIsAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(w.options("", small))
	was := ask(t, roomy, http.MethodGet, "/"+w.pipeline+".tw1", "")[w.pipeline+".tw1"].(map[string]any)
	body, err := json.Marshal(map[string]any{"aliases": was["aliases"], "mappings": was["mappings"], "settings": map[string]any{"number_of_shards": 1, "number_of_replicas": 0}})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, roomy, http.MethodDelete, "/"+w.pipeline+".tw1", "")
	ask(t, roomy, http.MethodPut, "/"+w.pipeline+".tw1", string(body))
	if got := w.refused(w.options("", small)); !strings.Contains(got, "was made with the UUID") {
		t.Errorf("an index that was made again: %s", got)
	}
}
