package servers

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

// indexed puts all items into one index.
const indexed = `
version: 1
name: '${NAME}'
source: {table: shop}
connections:
  os: {opensearch: '${OS_URL}', auth: none}
sinks:
  items:
    search: {connection: os, index: '${INDEX}', mode: %s, fields: {include: [Type, Status, Name]}, batch: {count: 10}}
dead_letters: {dir: '${DEAD}'}
`

// OpenSearch crashes in the middle of a run, and starts again on its data.
func TestOpenSearchRestarts(t *testing.T) {
	t.Parallel()
	to, restart := running(t), func() error { return nil }
	if !testing.Short() { // with -short the running node's indexes are closed and opened alone
		node := server.OpenSearch().StartFor(t)
		to.openSearch = node.Endpoint()
		t.Run("in mid-run, as a crash does", func(t *testing.T) { inMidRun(t, newWorld(t, to), node) })
		restart = func() error { return node.Restart(t.Context()) }
	}
	t.Run("Fact19_BetweenADeleteAndAStaleWrite", func(t *testing.T) {
		betweenDeleteAndStaleWrite(t, map[string]*world{"exact": newWorld(t, to), "fast": newWorld(t, to)}, restart)
	})
}

func inMidRun(t *testing.T, w *world, node *server.Node) {
	records := shopStream(t)
	cfg := w.config(t, fixture, fmt.Sprintf(indexed, "exact"), w.to)
	p := w.worker(t, cfg, w.to)
	var run sync.WaitGroup
	run.Go(func() { pass(t, p, records) })
	for p.Ledger().Sinks["items"].Written < 300 {
		select {
		case <-t.Context().Done():
			t.Fatal("the run does not go on")
		case <-time.After(time.Millisecond):
		}
	}
	node.Kill()
	before := p.Ledger().Sinks["items"]
	if err := node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	run.Wait()
	got := newState()
	w.readIndex(t, got)
	same(t, got, onlyDocuments(embedded(t, cfg, w.names, records)))
	l := p.Ledger().Sinks["items"]
	if l.DeadLettered > 0 {
		t.Errorf("%+v", l)
	}
	if before.Written == l.Written {
		t.Error("the run had ended before the crash")
	}
}

// Fact 19: OpenSearch forgets deleted versions after index.gc_deletes, and at every restart
// or close and open of the index: external versioning alone lets a late old write
// resurrect a deleted document.
func betweenDeleteAndStaleWrite(t *testing.T, worlds map[string]*world, restart func() error) {
	insert := record(1, "INSERT", "A", "", `"Name":{"S":"old"}`)
	modify := record(3, "MODIFY", "A", `"Name":{"S":"old"}`, `"Name":{"S":"newer"}`)
	remove := record(5, "REMOVE", "A", `"Name":{"S":"newer"}`, "")
	stays := record(7, "INSERT", "B", "", `"Name":{"S":"stays"}`)
	for mode, w := range worlds {
		pass(t, w.worker(t, w.config(t, fixture, fmt.Sprintf(indexed, mode), w.to), w.to), [][]byte{insert, modify, remove, stays})
		w.search(t, "PUT", "/"+w.index+"/_settings", `{"index.gc_deletes": "0s"}`)
	}
	// A worker of its own, which has seen nothing, brings the old records late.
	check := func(when string) {
		for mode, w := range worlds {
			l := pass(t, w.worker(t, w.config(t, fixture, fmt.Sprintf(indexed, mode), w.to), w.to), [][]byte{insert, modify})
			if s := l.Sinks["items"]; s.Superseded+s.Coalesced != 2 || s.Superseded == 0 {
				t.Errorf("%s, %s: %+v", mode, when, s)
			}
			got := newState()
			w.readIndex(t, got)
			if len(got[documents]) != 1 || got[documents]["B"] == "" {
				t.Errorf("%s, %s: %v", mode, when, got[documents])
			}
		}
	}
	check("gc_deletes over")
	for _, w := range worlds {
		for _, index := range w.indexes(t) {
			w.search(t, "POST", "/"+index+"/_close", "")
			w.search(t, "POST", "/"+index+"/_open", "")
			w.search(t, "GET", "/_cluster/health/"+index+"?wait_for_status=yellow", "")
		}
	}
	check("closed and opened")
	if err := restart(); err != nil {
		t.Fatal(err)
	}
	check("restarted")
}

func onlyDocuments(s state) state {
	only := newState()
	only[documents] = s[documents]
	return only
}
