package opensearch_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	nodes "github.com/tablewake/tablewake/test/server"
)

// TestOwnNode runs the tests that need their own node. The node compiles one script in five minutes, restarts with its
// data, loses the stored script, and refuses all writes.
func TestOwnNode(t *testing.T) {
	t.Parallel()
	node := nodes.OpenSearch().StartFor(t, "script.context.update.max_compilations_rate=1/5m")
	n := ownNode{node.Endpoint()}
	for _, ix := range []string{"one", "two"} {
		ask(t, n.url, http.MethodPut, "/"+ix, `{"settings":{"index":{"number_of_shards":1,"number_of_replicas":0}}}`)
	}
	t.Run("Fact34_OneScript", n.oneScript)

	s := open(t, opensearch.Options{URL: n.url})
	apply(t, s, mutation("one", "gone", 1), mutation("one", "there", 1))
	apply(t, s, tombstone("one", "gone", 3))
	if err := node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("Fact34_CompilationIsRefused", n.compilationIsRefused)
	t.Run("Fact19_RestartBeforeALateWrite", n.lateWrite)
	t.Run("ScriptIsGone", n.scriptIsGone)
	t.Run("ClusterIsBlocked", n.clusterIsBlocked)
}

// ownNode is a node that no other test uses.
type ownNode struct{ url string }

// Fact 19: OpenSearch forgets deleted versions after gc_deletes and at a restart. A late write from before the delete
// does not bring the document back.
func (n ownNode) lateWrite(t *testing.T) {
	s := open(t, opensearch.Options{URL: n.url})
	got := apply(t, s, mutation("one", "gone", 2), mutation("one", "there", 2))
	if want, is := "superseded written", outcomes(got); is != want {
		t.Errorf("after the restart outcomes are %s, want %s", is, want)
	}
	if doc := source(t, n.url, "one", "gone"); doc == nil || doc["n"] != nil {
		t.Errorf("in the place of the tombstone stands %v", doc)
	}
}

// Fact 34: OpenSearch refuses more than 75 distinct inline scripts in 5 minutes. This node refuses more than one. The
// store uses only one script, for all workers, indexes and documents.
func (n ownNode) oneScript(t *testing.T) {
	for worker := range 3 {
		s := open(t, opensearch.Options{URL: n.url})
		for _, ix := range []string{"one", "two"} {
			for version := range 5 {
				apply(t, s, mutation(ix, fmt.Sprint("a", worker), version, fmt.Sprintf(`"text%d":"x"`, version)), tombstone(ix, fmt.Sprint("b", version), worker))
			}
		}
	}
	if got := n.compilations(t); got != 1 {
		t.Errorf("%d compilations, want one", got)
	}
	if got := n.inline(t, 1); !strings.Contains(got, "circuit_breaking_exception") {
		t.Errorf("another script is not refused: %s", got)
	}
}

// compilations returns the number of update scripts that the node has compiled.
func (n ownNode) compilations(t *testing.T) int {
	t.Helper()
	var stats struct {
		Nodes map[string]struct {
			Cache struct {
				Contexts []struct {
					Context      string
					Compilations int
				}
			} `json:"script_cache"`
		}
	}
	b, err := json.Marshal(ask(t, n.url, http.MethodGet, "/_nodes/stats/script_cache", ""))
	if err == nil {
		err = json.Unmarshal(b, &stats)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range stats.Nodes {
		for _, c := range node.Cache.Contexts {
			if c.Context == "update" {
				return c.Compilations
			}
		}
	}
	t.Fatal("the node does not tell its compilations")
	return 0
}

// inline updates a document by a script in the request, and returns the answer. Each number makes a distinct script.
func (n ownNode) inline(t *testing.T, number int) string {
	t.Helper()
	body := `{"update":{"_index":"two","_id":"inline"}}` + "\n" + fmt.Sprintf(`{"scripted_upsert":true,"upsert":{},"script":{"lang":"painless","source":"ctx._source.n = %d"}}`, number) + "\n"
	return fmt.Sprint(ask(t, n.url, http.MethodPost, "/_bulk", body))
}

// The node must compile the store's script again after a restart, and refuses because scripts of others have used up
// the allowed compilations. The error is transient.
func (n ownNode) compilationIsRefused(t *testing.T) {
	s := open(t, opensearch.Options{URL: n.url})
	if got := n.inline(t, 2); strings.Contains(got, "error:") {
		t.Fatalf("the first script is refused: %s", got)
	}
	ms := []search.Mutation{mutation("one", "a", 9)}
	rs, err := s.Apply(t.Context(), ms)
	if err != nil {
		t.Fatal(err)
	}
	if _, passes := pipeline.Retryable(rs[0].Err); !passes || !strings.Contains(rs[0].Err.Error(), "script compiler") {
		t.Errorf("error: %v", rs[0].Err)
	}
	ask(t, n.url, http.MethodPut, "/_cluster/settings", `{"persistent":{"script.context.update.max_compilations_rate":"75/5m"}}`)
	if failed, _ := insist(t, s, ms); len(failed) > 0 {
		t.Errorf("failed for good: %v", failed)
	}
}

// The store installs a deleted script again, and all writes succeed.
func (n ownNode) scriptIsGone(t *testing.T) {
	s := open(t, opensearch.Options{URL: n.url})
	apply(t, s, mutation("one", "a", 19))
	state := ask(t, n.url, http.MethodGet, "/_cluster/state/metadata?filter_path=metadata.stored_scripts", "")
	metadata, _ := state["metadata"].(map[string]any)
	scripts, _ := metadata["stored_scripts"].(map[string]any)
	if len(scripts) != 1 {
		t.Fatalf("the stored scripts are %v", scripts)
	}
	for id := range scripts {
		ask(t, n.url, http.MethodDelete, "/_scripts/"+id, "")
	}
	for i, o := range apply(t, s, mutation("one", "a", 20), mutation("one", "b", 20)) {
		if o != pipeline.Written {
			t.Errorf("document %d is %s", i, o)
		}
	}
}

// If a block on the cluster refuses a whole request, the errors are transient.
func (n ownNode) clusterIsBlocked(t *testing.T) {
	s := open(t, opensearch.Options{URL: n.url})
	set := func(v string) {
		ask(t, n.url, http.MethodPut, "/_cluster/settings", `{"persistent":{"cluster.blocks.read_only":`+v+`}}`)
	}
	set("true")
	ms := []search.Mutation{mutation("one", "a", 30), mutation("two", "a", 30)}
	rs, err := s.Apply(t.Context(), ms)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if _, passes := pipeline.Retryable(r.Err); !passes || !strings.Contains(r.Err.Error(), "cluster_block_exception") {
			t.Errorf("document %d: %v", i, r.Err)
		}
	}
	set("null")
	if failed, _ := insist(t, s, ms); len(failed) > 0 {
		t.Errorf("failed for good: %v", failed)
	}
}
