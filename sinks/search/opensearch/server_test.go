package opensearch_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// The environment variables with the addresses of the servers that the tests need.
const (
	roomy = "TABLEWAKE_TEST_OPENSEARCH"
	// tight has one write thread, a queue of one, 64 KB of indexing pressure, and bodies of at most 1 MB.
	tight = "TABLEWAKE_TEST_OPENSEARCH_TIGHT"
)

// server returns the address of a real server. env is an environment variable, or the address itself.
func server(tb testing.TB, env string) string {
	tb.Helper()
	if strings.HasPrefix(env, "http") {
		return env
	}
	url := os.Getenv(env)
	if url == "" {
		tb.Fatalf("%s is not set: run `go run ./test/servers -- go test ./...`", env)
	}
	return url
}

// indexName returns an index name that no other test has.
func indexName() string { return "osbulk-" + strings.ToLower(rand.Text()) }

// open opens a store on a real server.
func open(tb testing.TB, o opensearch.Options) *opensearch.Store {
	tb.Helper()
	if o.URL == "" {
		o.URL = server(tb, roomy)
	}
	s, err := opensearch.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// index creates an index on a real server and returns its name. body has the settings and mappings as JSON. If body is
// "", the index has one shard. The index is deleted when the test ends.
func index(tb testing.TB, env, body string) string {
	tb.Helper()
	name := indexName()
	if body == "" {
		body = `{"settings":{"index":{"number_of_shards":1,"number_of_replicas":0}}}`
	}
	ask(tb, env, http.MethodPut, "/"+name, body)
	tb.Cleanup(func() { ask(tb, env, http.MethodDelete, "/"+name, "") })
	return name
}

// ask sends a request to a real server and returns the answer. The request must succeed or get 404.
func ask(tb testing.TB, env, method, path, body string) map[string]any {
	tb.Helper()
	r, err := http.NewRequest(method, server(tb, env)+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	if resp.StatusCode/100 != 2 && resp.StatusCode != http.StatusNotFound {
		tb.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	m := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := decoder.Decode(&m); err != nil {
		tb.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
	return m
}

// source returns the document or tombstone at an id of an index, or nil if there is none.
func source(tb testing.TB, env, index, id string) map[string]any {
	tb.Helper()
	source, _ := ask(tb, env, http.MethodGet, "/"+index+"/_doc/"+id, "")["_source"].(map[string]any)
	return source
}

const base = 1767323045 // creation time in the versions of mutations

// mutation returns a mutation that writes {"n":version,...more} at a version.
func mutation(index, id string, version int, more ...string) search.Mutation {
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040d", base, version))
	if err != nil {
		panic(err)
	}
	doc := fmt.Appendf(nil, `{"_tw":{"version":%q,"by":"test"},"n":%d`, v, version)
	for _, m := range more {
		doc = append(append(doc, ','), m...)
	}
	return search.Mutation{Index: index, ID: id, Version: v, Time: time.Unix(int64(base+version), 0), Doc: append(doc, '}')}
}

// tombstone returns a mutation that deletes a document at a version.
func tombstone(index, id string, version int) search.Mutation {
	m := mutation(index, id, version)
	m.Tombstone = true
	m.Doc = fmt.Appendf(nil, `{"_tw":{"version":%q,"by":"test","deleted":true}}`, m.Version)
	return m
}

// outcomes returns the outcomes as text, in order.
func outcomes(os []pipeline.Outcome) string {
	texts := make([]string, len(os))
	for i, o := range os {
		texts[i] = o.String()
	}
	return strings.Join(texts, " ")
}

// apply writes mutations, which must all succeed, and returns their outcomes.
func apply(tb testing.TB, s *opensearch.Store, ms ...search.Mutation) []pipeline.Outcome {
	tb.Helper()
	rs, err := s.Apply(tb.Context(), ms)
	if err != nil {
		tb.Fatal(err)
	}
	outcomes := make([]pipeline.Outcome, len(rs))
	for i, r := range rs {
		if r.Err != nil {
			tb.Fatal(r.Err)
		}
		outcomes[i] = r.Outcome
	}
	return outcomes
}
