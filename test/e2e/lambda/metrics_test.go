package lambda

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/world"
)

// By default a function writes metrics into its log before each reply, in the format that CloudWatch reads. They are
// the metrics of this invocation only, and show nothing of any item.
func TestMetricsAreInTheLog(t *testing.T) {
	t.Parallel()
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{})
	seen := 0
	for i, batch := range [][][]byte{{order(1, "canary1"), order(2, "canary2")}, {order(3, "canary3")}} {
		f.answers(t, event(batch...), succeeded)
		sums := map[string]float64{}
		docs := documents(f.Log())
		for _, doc := range docs[seen:] {
			for name, v := range doc {
				if n, ok := v.(float64); ok && doc["sink"] == nil {
					sums[name] += n
				}
			}
			if text, _ := json.Marshal(doc); strings.Contains(string(text), "canary") {
				t.Errorf("a document shows an item: %s", text)
			}
		}
		seen = len(docs)
		for name, want := range map[string]float64{
			"tablewake.handler.invocations": 1, "tablewake.handler.records": float64(len(batch)), "tablewake.source.records": float64(len(batch)),
		} {
			if sums[name] != want {
				t.Errorf("invocation %d: the documents add up to %v %s, want %v", i, sums[name], name, want)
			}
		}
		if sums["tablewake.aws.units"] <= 0 || sums["tablewake.aws.cost"] <= 0 {
			t.Errorf("invocation %d: rows were written for nothing: %v", i, sums)
		}
	}
}

// documents returns the documents of the embedded metric format in a log.
func documents(log string) []map[string]any {
	var all []map[string]any
	for line := range strings.Lines(log) {
		i := strings.Index(line, `{"_aws":`)
		if i < 0 {
			continue
		}
		var doc map[string]any
		if json.Unmarshal([]byte(line[i:]), &doc) == nil {
			all = append(all, doc)
		}
	}
	return all
}
