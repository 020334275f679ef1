package opensearch_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/state"
)

// at returns a clock that stands still.
func at(now time.Time) func() time.Time { return func() time.Time { return now } }

// Every process that opens the sink again finds its fingerprint. The fingerprint is removed if the sink begins again.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("", small))
	if _, ok, err := s.Fingerprint(t.Context(), w.pipeline, "docs"); ok || err != nil {
		t.Fatalf("a new sink has a fingerprint: %v (%v)", ok, err)
	}
	for _, settings := range []map[string]string{{"search.index": "a", `with "quotes".and.dots`: "ü"}, {"search.index": "b"}} {
		want := state.Fingerprint{Pipeline: w.pipeline, Sink: "docs", Generation: 1, Settings: settings}
		if err := s.SetFingerprint(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, ok, err := w.begin(w.options("", small)).Fingerprint(t.Context(), w.pipeline, "docs")
		if err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("read back %+v %v (%v), want %+v", got, ok, err, want)
		}
	}
	if _, ok, err := s.Fingerprint(t.Context(), w.pipeline, "doc"); ok || err != nil {
		t.Errorf("another sink has its fingerprint: %v (%v)", ok, err)
	}
	ask(t, roomy, http.MethodDelete, "/"+w.pipeline+".tw1", "")
	if got := w.refused(w.options("", small)); !strings.Contains(got, "index "+w.pipeline+" is missing") {
		t.Errorf("an index that was deleted: %s", got)
	}
	w.renew(s)
	again := w.begin(w.options("", `{"settings":{"number_of_shards":2,"number_of_replicas":0}}`))
	if f, ok, err := again.Fingerprint(t.Context(), w.pipeline, "docs"); ok || err != nil {
		t.Errorf("a sink that begins anew has %v (%v)", f, err)
	}
}

// The age of a store begins when the sink is opened for the first time, and is the same for every process. If the
// sink's record is lost, the age begins with the creation of the index.
func TestMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	born := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := w.options("", small)
	o.Clock = at(born)
	w.begin(o)
	o.Clock = at(born.Add(time.Hour))
	if m, err := w.begin(o).StoreAge(t.Context()); err != nil || !m.Forgets || !m.Born.Equal(born) {
		t.Errorf("remembers %+v (%v), want since %s", m, err, born)
	}
	ask(t, roomy, http.MethodDelete, "/tablewake/_doc/"+w.pipeline+",docs", "")
	future := time.Now().Add(1000 * time.Hour)
	o.Clock = at(future)
	if m, err := w.begin(o).StoreAge(t.Context()); err != nil || !m.Born.Before(future.Add(-999*time.Hour)) || m.Born.Before(born) {
		t.Errorf("without its record, remembers %+v (%v)", m, err)
	}
}

// The index of records is hidden from requests for all indexes, because it contains only the records of sinks.
func TestRecordsAreHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("", small))
	if err := s.SetFingerprint(t.Context(), state.Fingerprint{Pipeline: w.pipeline, Sink: "docs"}); err != nil {
		t.Fatal(err)
	}
	for name := range ask(t, roomy, http.MethodGet, "/*/_mapping", "") {
		if name == "tablewake" {
			t.Error("the index of records shows among all indexes")
		}
	}
	if names, err := s.Indexes(t.Context()); err != nil || len(names) != 1 || names[0] != w.pipeline {
		t.Errorf("the sink has %q (%v)", names, err)
	}
}

// A store without Indexes writes to the index of each mutation. It cannot list the indexes of a sink.
func TestWithoutIndexes(t *testing.T) {
	t.Parallel()
	s := open(t, opensearch.Options{})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Indexes(t.Context()); err == nil || !strings.Contains(err.Error(), "Indexes is nil") {
		t.Errorf("lists indexes: %v", err)
	}
}
