package servers

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/server"
)

// indexed is a configuration that puts all items into one index.
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

// OpenSearch crashes in the middle of a run, and starts again with its data. The result is that of a clean pass.
func TestOpenSearchRestarts(t *testing.T) {
	t.Parallel()
	to, restart := world.Running(t), func() error { return nil }
	if !testing.Short() { // with -short the indexes of the running node are closed and opened
		node := server.OpenSearch().StartFor(t)
		to.OpenSearch = node.Endpoint()
		t.Run("in mid-run, as a crash does", func(t *testing.T) { inMidRun(t, world.New(t, to), node) })
		restart = func() error { return node.Restart(t.Context()) }
	}
	t.Run("Fact19_BetweenADeleteAndAStaleWrite", func(t *testing.T) {
		betweenDeleteAndStaleWrite(t, map[string]*world.World{"exact": world.New(t, to), "fast": world.New(t, to)}, restart)
	})
}

func inMidRun(t *testing.T, w *world.World, node *server.Node) {
	records := world.ShopStream(t)
	cfg := w.Config(t, world.Fixture, fmt.Sprintf(indexed, "exact"), w.To)
	p := w.Worker(t, cfg, w.To)
	var run sync.WaitGroup
	run.Go(func() { world.Pass(t, p, records) })
	for p.Ledger().Sinks["items"].Written < 300 {
		select {
		case <-t.Context().Done():
			t.Fatal("the run does not continue")
		case <-time.After(time.Millisecond):
		}
	}
	node.Kill()
	before := p.Ledger().Sinks["items"]
	if err := node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	run.Wait()
	got := world.NewState()
	w.ReadIndex(t, got)
	world.Same(t, got, onlyDocuments(world.Embedded(t, cfg, w.Names, records)))
	l := p.Ledger().Sinks["items"]
	if l.DeadLettered > 0 {
		t.Errorf("%+v", l)
	}
	if before.Written == l.Written {
		t.Error("the run had ended before the crash")
	}
}

// Fact 19: OpenSearch forgets deleted versions after index.gc_deletes, and at every restart or close and open of the
// index. With external versioning alone, a late old write would then resurrect a deleted document.
func betweenDeleteAndStaleWrite(t *testing.T, worlds map[string]*world.World, restart func() error) {
	insert := world.Record(1, "INSERT", "A", "", `"Name":{"S":"old"}`)
	modify := world.Record(3, "MODIFY", "A", `"Name":{"S":"old"}`, `"Name":{"S":"newer"}`)
	remove := world.Record(5, "REMOVE", "A", `"Name":{"S":"newer"}`, "")
	stays := world.Record(7, "INSERT", "B", "", `"Name":{"S":"stays"}`)
	for mode, w := range worlds {
		world.Pass(t, w.Worker(t, w.Config(t, world.Fixture, fmt.Sprintf(indexed, mode), w.To), w.To), [][]byte{insert, modify, remove, stays})
		w.Search(t, "PUT", "/"+w.Index+"/_settings", `{"index.gc_deletes": "0s"}`)
	}
	// A new worker, which has seen nothing, brings the old records late.
	check := func(when string) {
		for mode, w := range worlds {
			l := world.Pass(t, w.Worker(t, w.Config(t, world.Fixture, fmt.Sprintf(indexed, mode), w.To), w.To), [][]byte{insert, modify})
			if s := l.Sinks["items"]; s.Superseded+s.Coalesced != 2 || s.Superseded == 0 {
				t.Errorf("%s, %s: %+v", mode, when, s)
			}
			got := world.NewState()
			w.ReadIndex(t, got)
			if len(got[world.Documents]) != 1 || got[world.Documents]["B"] == "" {
				t.Errorf("%s, %s: %v", mode, when, got[world.Documents])
			}
		}
	}
	check("gc_deletes over")
	for _, w := range worlds {
		for _, index := range w.Indexes(t) {
			w.Search(t, "POST", "/"+index+"/_close", "")
			w.Search(t, "POST", "/"+index+"/_open", "")
			w.Search(t, "GET", "/_cluster/health/"+index+"?wait_for_status=yellow", "")
		}
	}
	check("closed and opened")
	if err := restart(); err != nil {
		t.Fatal(err)
	}
	check("restarted")
}

func onlyDocuments(s world.State) world.State {
	only := world.NewState()
	only[world.Documents] = s[world.Documents]
	return only
}
