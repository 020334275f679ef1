package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/sqlite"
	state "github.com/tablewake/tablewake/sinks/state/sqlite"
)

// owner is the sink that writes the indexes.
var owner = search.Owner{Pipeline: "test", Sink: "docs"}

// openIn opens the file in a folder.
func openIn(ctx context.Context, dir string) (*sqlite.Store, error) {
	return sqlite.Open(ctx, filepath.Join(dir, "views.db"), owner, state.Options{})
}

func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := openIn(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// apply writes mutations and returns their outcomes.
func apply(t *testing.T, s *sqlite.Store, ms ...search.Mutation) []pipeline.Outcome {
	t.Helper()
	rs, err := s.Apply(t.Context(), ms)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make([]pipeline.Outcome, len(rs))
	for i, r := range rs {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		outcomes[i] = r.Outcome
	}
	return outcomes
}

// read returns every document of an index by its id.
func read(t *testing.T, s *sqlite.Store, index string) map[string]string {
	t.Helper()
	docs := make(map[string]string)
	last := ""
	for d, err := range s.Documents(t.Context(), index) {
		if err != nil {
			t.Fatal(err)
		}
		if d.ID <= last && last != "" {
			t.Errorf("document %s comes after %s", d.ID, last)
		}
		last = d.ID
		docs[d.ID] = string(d.Doc)
	}
	return docs
}

// ids returns the ids that a search finds, best first.
func ids(t *testing.T, s *sqlite.Store, index, query string) []string {
	t.Helper()
	hits, err := s.Search(t.Context(), index, query, 100)
	if err != nil {
		t.Fatal(err)
	}
	if hits.Total != uint64(len(hits.Documents)) {
		t.Errorf("%q: total %d, but %d documents", query, hits.Total, len(hits.Documents))
	}
	found := []string{}
	for _, d := range hits.Documents {
		found = append(found, d.ID)
	}
	return found
}

func tombstone(id string, version int) search.Mutation {
	m := mutation(id, version, `{}`)
	m.Tombstone = true
	return m
}

// An older version never replaces a newer document or tombstone, neither in the same batch nor in a later one. The
// store also keeps its versions after it is opened again.
func TestOlderVersionsLose(t *testing.T) {
	const written, superseded, coalesced = pipeline.Written, pipeline.Superseded, pipeline.Coalesced
	dir := t.TempDir()
	s := open(t, dir)
	for _, step := range []struct {
		ms   []search.Mutation
		want []pipeline.Outcome
		docs string
	}{
		{[]search.Mutation{mutation("a", 5, `{"v":5}`)}, []pipeline.Outcome{written}, "map[a:{\"v\":5}]"},
		{[]search.Mutation{mutation("a", 4, `{"v":4}`)}, []pipeline.Outcome{superseded}, "map[a:{\"v\":5}]"},
		{[]search.Mutation{mutation("a", 5, `{"v":5}`)}, []pipeline.Outcome{written}, "map[a:{\"v\":5}]"},
		{[]search.Mutation{tombstone("a", 7), mutation("a", 6, `{"v":6}`)}, []pipeline.Outcome{written, superseded}, "map[]"},
		{[]search.Mutation{mutation("a", 6, `{"v":6}`)}, []pipeline.Outcome{superseded}, "map[]"},
		{[]search.Mutation{tombstone("a", 7)}, []pipeline.Outcome{written}, "map[]"},
		// Fact 21: A delete and a re-insert of one key in one batch must end with the document.
		{[]search.Mutation{mutation("a", 8, `{"v":8}`), tombstone("a", 9), mutation("a", 10, `{"v":10}`)},
			[]pipeline.Outcome{coalesced, coalesced, written}, "map[a:{\"v\":10}]"},
		{[]search.Mutation{mutation("b", 2, `{"v":2}`), mutation("b", 2, `{"v":2}`), mutation("b", 1, `{"v":1}`)},
			[]pipeline.Outcome{written, coalesced, superseded}, "map[a:{\"v\":10} b:{\"v\":2}]"},
	} {
		if got := apply(t, s, step.ms...); !slices.Equal(got, step.want) {
			t.Errorf("%v: outcomes %v, want %v", step.ms, got, step.want)
		}
		if got := fmt.Sprint(read(t, s, "docs")); got != step.docs {
			t.Errorf("after %v the index holds %s, want %s", step.ms, got, step.docs)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	apply(t, s, tombstone("b", 3))
	if got := apply(t, s, mutation("b", 2, `{}`)); got[0] != superseded {
		t.Errorf("opened again, an old version is %v", got[0])
	}
}

// Concurrent writers of the same documents leave the highest version of each document.
func TestWritersAtOnce(t *testing.T) {
	s := open(t, t.TempDir())
	const writers, versions = 4, 20
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			for v := 1; v <= versions; v++ {
				var ms []search.Mutation
				for d := range 5 {
					version := (v*7+w*3+d)%versions + 1
					ms = append(ms, mutation(fmt.Sprint("doc", (d+w)%5), version, fmt.Sprintf(`{"v":%d}`, version)))
				}
				rs, err := s.Apply(context.Background(), ms)
				errs[w] = errors.Join(errs[w], err)
				for _, r := range rs {
					errs[w] = errors.Join(errs[w], r.Err)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for id, doc := range read(t, s, "docs") {
		if want := fmt.Sprintf(`{"v":%d}`, versions); doc != want {
			t.Errorf("%s is %s, want %s", id, doc, want)
		}
	}
}

func TestSearch(t *testing.T) {
	s := open(t, t.TempDir())
	apply(t, s,
		mutation("a", 1, `{"_tw":{"version":"1","by":"shop"},"title":"The Red Shoe","Price":49.5,"Tags":["sale","new"],"CreatedAt":"2026-01-02T03:04:05Z","Address":{"City":"Köln"},"live":true}`),
		mutation("b", 1, `{"title":"Blue shoe","Price":20,"Tags":["new"],"CreatedAt":"2026-02-02T03:04:05Z","Lines":[{"sku":"x-1"},{"sku":"x-2"}],"live":false}`),
		mutation("c", 1, `{"title":"a shoe of another colour, red","Price":100,"_id":"a","_tw.deleted":true,"_all":"hidden"}`),
		mutation("gone", 1, `{"title":"red shoe, gone"}`),
		tombstone("gone", 2),
		search.Mutation{Index: "other", ID: "z", Version: mutation("z", 1, "").Version, Doc: []byte(`{"title":"red"}`)},
	)
	for query, want := range map[string][]string{
		"":                        {"a", "b", "c"},
		"*":                       {"a", "b", "c"},
		"red":                     {"a", "c"},
		"RED":                     {"a", "c"},
		"the":                     {"a"}, // the index has no stop words
		`"red shoe"`:              {"a"},
		"title:blue":              {"b"},
		"+title:shoe -title:red":  {"b"},
		"-title:red":              {"b"},
		"Price:>40":               {"a", "c"},
		"Price:20":                {"b"},
		"Tags:sale":               {"a"},
		"Address.City:köln":       {"a"},
		"Lines.sku:2":             {"b"},
		`CreatedAt:>"2026-01-15"`: {"b"},
		"live:true":               {"a"},
		"gone":                    {},
		"_tw.deleted:true":        {"c"}, // an attribute of the item has this name
		"nothing":                 {},
		"_tw.version:1":           {},
	} {
		got := ids(t, s, "docs", query)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	hits, err := s.Search(t.Context(), "docs", "shoe", 1)
	if err != nil {
		t.Fatal(err)
	}
	if hits.Total != 3 || len(hits.Documents) != 1 || hits.Documents[0].Score <= 0 || hits.Documents[0].Index != "docs" {
		t.Errorf("a limit of 1 finds %d of %d: %+v", len(hits.Documents), hits.Total, hits.Documents)
	}
	if names, err := s.Indexes(t.Context()); err != nil || !slices.Equal(names, []string{"docs", "other"}) {
		t.Errorf("indexes %q (%v)", names, err)
	}
}

// A document is returned byte for byte as it was written. This includes numbers that no double can hold, and fields
// that no query uses.
func TestDocumentsAreKeptAsWritten(t *testing.T) {
	s := open(t, t.TempDir())
	doc := `{"_tw":{"version":"1"},"n":12345678901234567890123456789012345678,"d":"0.1234567890123456789","e":{},"l":[[],null],"b":"` +
		strings.Repeat("QUJD", 10_000) + `","":"?","t":"a name","a.b":1,"u":"\u0001é"}`
	apply(t, s, mutation("a", 1, doc))
	if got := read(t, s, "docs")["a"]; got != doc {
		t.Errorf("the document is %.200s", got)
	}
	hits, err := s.Search(t.Context(), "docs", "name", 0)
	if err != nil || len(hits.Documents) != 1 || string(hits.Documents[0].Doc) != doc {
		t.Errorf("the search finds %d documents (%v)", len(hits.Documents), err)
	}
}

func TestReading(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, mutation("a", 1, `{"t":"x"}`), mutation("b", 1, `{"t":"x"}`))
	n := 0
	for range s.Documents(t.Context(), "docs") {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d documents before the break", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Documents(ctx, "docs") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled, the reading continues: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	queries, err := sqlite.OpenReader(t.Context(), filepath.Join(dir, "views.db"))
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, queries, "docs", "x"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("read only, the search finds %q", got)
	}
	if _, err := queries.Apply(t.Context(), []search.Mutation{mutation("c", 1, `{}`)}); err == nil {
		t.Error("read only, the store takes writes")
	}
	if err := errors.Join(queries.Close(), queries.Close()); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "views.db"), search.Owner{Pipeline: "test"}, state.Options{}); err == nil || !strings.Contains(err.Error(), "Owner") {
		t.Errorf("without an owner: %v", err)
	}
	if _, err := sqlite.OpenReader(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there opens for queries")
	}
	s := open(t, t.TempDir())
	if _, err := s.Search(t.Context(), "docs", "", 0); !errors.Is(err, search.ErrNoIndex) {
		t.Errorf("a search in no index: %v, want ErrNoIndex", err)
	}
	for _, err := range s.Documents(t.Context(), "docs") {
		if !errors.Is(err, search.ErrNoIndex) {
			t.Errorf("documents of no index: %v, want ErrNoIndex", err)
		}
	}
	if err := errors.Join(s.Create(t.Context(), "docs"), s.Create(t.Context(), "docs")); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, s, "docs", ""); len(got) != 0 {
		t.Errorf("a new index holds %q", got)
	}
	if err := s.Create(t.Context(), "Docs"); err == nil {
		t.Error("an index is named Docs")
	}
	if _, err := s.Search(t.Context(), "docs", `+"`, 0); err == nil || !strings.Contains(err.Error(), `+\"`) {
		t.Errorf("an unsound query: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rs, err := s.Apply(t.Context(), []search.Mutation{mutation("a", 2, `{}`)})
	if err == nil && rs[0].Err == nil {
		t.Error("a closed store takes writes")
	}
}
