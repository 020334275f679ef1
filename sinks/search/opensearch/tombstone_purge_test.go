package opensearch_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// inModes runs a test of an index in both modes.
func inModes(t *testing.T, mapping string, test func(t *testing.T, w *world, o opensearch.Options)) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.options("", mapping)
			o.Mode = mode
			test(t, w, o)
		})
	}
}

// Fact 19: OpenSearch forgets deleted versions after index.gc_deletes (60 s by default), and whenever an index is
// closed or the server restarts. With external versions alone, a late old write would bring back a deleted document. A
// tombstone prevents that, and readers do not see the tombstone.
func TestFact19_DeletedDocumentsStayDeleted(t *testing.T) {
	t.Parallel()
	inModes(t, `{"settings":{"number_of_shards":1,"number_of_replicas":0,"gc_deletes":"1ms"}}`, func(t *testing.T, w *world, o opensearch.Options) {
		s := w.begin(o)
		apply(t, s, mutation(w.pipeline, "a", 5), mutation(w.pipeline, "b", 5))
		apply(t, s, tombstone(w.pipeline, "a", 7))
		for _, between := range []string{"nothing", "_flush", "_close", "_open"} {
			if between != "nothing" {
				ask(t, roomy, http.MethodPost, "/"+w.pipeline+".tw1/"+between, "")
			}
			if between == "_close" {
				continue
			}
			if between == "_open" {
				ask(t, roomy, http.MethodGet, "/_cluster/health/"+w.pipeline+".tw1?wait_for_status=green", "")
				s = w.begin(o) // as another process
			}
			if got := apply(t, s, mutation(w.pipeline, "a", 6)); got[0] != pipeline.Superseded {
				t.Errorf("after %s a write from before the delete is %s", between, got[0])
			}
			if docs := documents(t, s, w.pipeline); fmt.Sprint(docs) != "[b]" {
				t.Errorf("after %s readers see %v", between, docs)
			}
		}
		if there, err := s.ReadStored(t.Context(), w.pipeline, "a", ""); err != nil || !there.Tombstone || there.Version != tombstone(w.pipeline, "a", 7).Version {
			t.Errorf("there stands %+v (%v)", there, err)
		}
		if got := apply(t, s, mutation(w.pipeline, "a", 8)); got[0] != pipeline.Written {
			t.Errorf("the item is back, and that is %s", got[0])
		}
		if docs := documents(t, s, w.pipeline); fmt.Sprint(docs) != "[a b]" {
			t.Errorf("in the end readers see %v", docs)
		}
	})
}

// Purge deletes tombstones by the time when they were written, and not by the time of their change. It does not delete
// documents.
func TestPurge(t *testing.T) {
	t.Parallel()
	inModes(t, `{"settings":{"number_of_shards":3,"number_of_replicas":0}}`, func(t *testing.T, w *world, o opensearch.Options) {
		written := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		o.Clock = at(written)
		s := w.begin(o)
		routed := tombstone(w.pipeline, "routed", 2)
		routed.Routing = "elsewhere"
		apply(t, s, mutation(w.pipeline, "live", 1), tombstone(w.pipeline, "old", 2), routed, mutation(w.pipeline, "back", 1), tombstone(w.pipeline, "back", 2), mutation(w.pipeline, "back", 3))
		o.Clock = at(written.Add(time.Hour))
		apply(t, w.begin(o), tombstone(w.pipeline, "younger", 2))

		for _, step := range []struct {
			before time.Duration
			want   int
		}{{0, 0}, {time.Minute, 2}, {time.Minute, 0}, {2 * time.Hour, 1}} {
			if n, err := s.Purge(t.Context(), written.Add(step.before)); err != nil || n != step.want {
				t.Errorf("before %s after: %d purged (%v), want %d", step.before, n, err, step.want)
			}
			if step.before == time.Minute {
				if there, err := s.ReadStored(t.Context(), w.pipeline, "younger", ""); err != nil || !there.Tombstone {
					t.Errorf("the younger one stands as %+v (%v)", there, err)
				}
				if got := apply(t, s, mutation(w.pipeline, "younger", 1)); got[0] != pipeline.Superseded {
					t.Errorf("an older write than what was not purged is %s", got[0])
				}
			}
		}
		for id, routing := range map[string]string{"old": "", "routed": "elsewhere", "younger": ""} {
			if there, err := s.ReadStored(t.Context(), w.pipeline, id, routing); err != nil || there.Exists {
				t.Errorf("%s stands as %+v (%v)", id, there, err)
			}
		}
		if docs := documents(t, s, w.pipeline); fmt.Sprint(docs) != "[back live]" {
			t.Errorf("there are %v", docs)
		}
	})
}

// meddler runs a function before the first request that deletes.
type meddler struct {
	http.RoundTripper
	meddle func()
}

func (m *meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/_bulk") && m.meddle != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`{"delete"`)) {
			do := m.meddle
			m.meddle = nil
			do()
		}
	}
	return m.RoundTripper.RoundTrip(r)
}

// Purge does not delete what was written after it found a tombstone: a document that came back in the same second as
// its delete, or a newer tombstone.
func TestPurge_OfUnchangedOnly(t *testing.T) {
	t.Parallel()
	inModes(t, small, func(t *testing.T, w *world, o opensearch.Options) {
		written := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		o.Clock = at(written)
		s := w.begin(o)
		apply(t, s, tombstone(w.pipeline, "back", 2), tombstone(w.pipeline, "again", 2), tombstone(w.pipeline, "old", 2))
		back := mutation(w.pipeline, "back", 3)
		back.Time = tombstone(w.pipeline, "back", 2).Time

		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		o.Clock = at(written.Add(time.Hour))
		now := w.begin(o)
		o.Transport = &meddler{transport, func() { apply(t, now, back, tombstone(w.pipeline, "again", 4)) }}
		n, err := w.begin(o).Purge(t.Context(), written.Add(time.Minute))
		if err != nil || n != 1 {
			t.Errorf("%d purged (%v), want the one that is unchanged", n, err)
		}
		if docs := documents(t, s, w.pipeline); fmt.Sprint(docs) != "[back]" {
			t.Errorf("there are %v", docs)
		}
		if there, err := s.ReadStored(t.Context(), w.pipeline, "again", ""); err != nil || !there.Tombstone || there.Version != tombstone(w.pipeline, "again", 4).Version {
			t.Errorf("what was deleted again stands as %+v (%v)", there, err)
		}
	})
}

// A sink is empty if it has neither a document nor a tombstone.
func TestEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("-{Tenant}", small))
	check := func(want bool) {
		t.Helper()
		if empty, err := s.Empty(t.Context()); err != nil || empty != want {
			t.Errorf("empty is %v (%v), want %v", empty, err, want)
		}
	}
	check(true)
	apply(t, s, tombstone(w.index("-a"), "d", 1))
	check(false)
	if n, err := s.Purge(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("%d purged (%v)", n, err)
	}
	check(true)
	apply(t, s, mutation(w.index("-b"), "d", 1))
	check(false)
}
