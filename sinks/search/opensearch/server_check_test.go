package opensearch_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Check only reads. It refuses the same indexes as Open.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options("", small)
	if names, err := open(t, o).Check(t.Context()); err != nil || len(names) > 0 {
		t.Fatalf("there are the indexes %v (%v), want none", names, err)
	}
	if all := ask(t, roomy, http.MethodGet, "/"+w.pipeline+"*", ""); len(all) > 0 {
		t.Errorf("Check made %v", all)
	}
	if doc := ask(t, roomy, http.MethodGet, "/tablewake/_doc/"+w.pipeline+",docs", ""); doc["_source"] != nil {
		t.Errorf("Check made the record %v", doc)
	}
	w.begin(o)
	if names, err := open(t, o).Check(t.Context()); err != nil || !slices.Equal(names, []string{w.pipeline}) {
		t.Fatalf("there are the indexes %v (%v), want %s", names, err, w.pipeline)
	}
	for _, wrong := range []string{`{"settings":{"number_of_shards":2,"number_of_replicas":0}}`, "deleted"} {
		o, want := w.options("", wrong), "settings.index.number_of_shards was 1 and is 2"
		if wrong == "deleted" {
			ask(t, roomy, http.MethodDelete, "/"+w.pipeline+".tw1", "")
			o, want = w.options("", small), "index "+w.pipeline+" is missing, and it was made before"
		}
		if _, err := open(t, o).Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", wrong, err, want)
		}
	}
}
