package consume

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/test/server"
)

// index is a search index on OpenSearch.
type index struct {
	name     string
	endpoint string
	store    *opensearch.Store
}

// addIndex adds a search sink with the name "documents" to the configuration. Its index is deleted at the end of the
// test.
func (w *world) addIndex(t *testing.T) *index {
	t.Helper()
	x := &index{name: w.name + "-items", endpoint: server.OpenSearch().Endpoint(t)}
	w.whole = strings.Replace(w.whole, "sinks:\n", fmt.Sprintf("connections: {os: {opensearch: %q, auth: none}}\nsinks:\n", x.endpoint), 1)
	w.whole += fmt.Sprintf("  documents: {search: {connection: os, index: %s}}\n", x.name)
	transport := &http.Transport{}
	var err error
	if x.store, err = opensearch.New(opensearch.Options{URL: x.endpoint, Transport: transport}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := x.remove(ctx, transport); err != nil {
			t.Error(err)
		}
		if err := x.store.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return x
}

// remove deletes the physical index behind the alias.
func (x *index) remove(ctx context.Context, transport http.RoundTripper) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, x.endpoint+"/"+x.name+".tw1", nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// holds waits until the index has the items of the table.
func (x *index) holds(t *testing.T, s *source) {
	t.Helper()
	want := make(map[string]string)
	for pk, it := range s.Items() {
		want[escaped(pk)+",order"] = fmt.Sprintf("%s %s %s %s %d", it.Status, it.Customer, it.Email, number(it.Total), it.Write)
	}
	var diff string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Second) {
		got := make(map[string]string)
		var failed error
		for d, err := range x.store.Documents(t.Context(), x.name) {
			var doc struct {
				Status, Customer, Email string
				Total, Write            json.Number
			}
			if err == nil {
				err = json.Unmarshal(d.Doc, &doc)
			}
			if failed = err; failed != nil {
				break
			}
			got[d.ID] = fmt.Sprintf("%s %s %s %s %s", doc.Status, doc.Customer, doc.Email, number(doc.Total.String()), doc.Write)
		}
		if diff = cmp.Diff(want, got); diff == "" && failed == nil {
			return
		}
		if failed != nil {
			diff = failed.Error()
		}
	}
	t.Fatalf("after %v the index does not hold what the table says, (-want +got):\n%.4000s", patience, diff)
}
