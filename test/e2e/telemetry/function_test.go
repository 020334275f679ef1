package telemetry

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/server"
)

// A function sends telemetry to a collector before each reply. The span of the invocation has the spans of its page,
// its Writes and their calls, and the metrics add up.
func TestCollector_Function(t *testing.T) {
	const text = `
version: 1
name: '${NAME}'
source: {table: shop}
state: {table: '${STATE}'}
metrics: otlp
sinks:
  rows: {view: {table: '${VIEWS}', key: {PK: '{Status}', SK: '{@key}'}}}
`
	w := world.New(t, world.Running(t))
	endpoint, _, file := collector(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tablewake.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Worker(t, w.Config(t, dir, text, w.To), w.To) // makes the tables
	f := server.StartFunctionFor(t, server.FunctionOptions{
		Bootstrap: built(t, "./cmd/lambda"), Root: dir, Env: append(w.Environment(w.To), "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint),
	})
	n := 0
	for invocation := 1; invocation <= 2; invocation++ {
		var records [][]byte
		for range 3 {
			n++
			records = append(records, world.RecordAt(time.Now(), n, "INSERT", fmt.Sprintf("canary#%d", n), "", `"Status":{"S":"canary"}`))
		}
		reply, err := f.Invoke(t.Context(), fmt.Appendf(nil, `{"Records":[%s]}`, bytes.Join(records, []byte(","))))
		if err != nil || string(reply) != `{"batchItemFailures":[]}` {
			t.Fatalf("%s, %v\n%s", reply, err, f.Log())
		}
		got := read(t, file)
		for _, want := range []struct {
			name  string
			value int
			attrs []string
		}{
			{"tablewake.handler.invocations", invocation, []string{"source=dynamodb", "outcome=success"}},
			{"tablewake.handler.records", n, []string{"source=dynamodb"}},
			{"tablewake.source.records", n, []string{"outcome=routed"}},
			{"tablewake.sink.deliveries", n, []string{"sink=rows", "outcome=written"}},
		} {
			if v, there := got.total(want.name, append(want.attrs, "pipeline="+w.Pipeline)...); !there || v != float64(want.value) {
				t.Errorf("invocation %d: %s is %v (there: %v), want %d", invocation, want.name, v, there, want.value)
			}
		}
		if v, _ := got.total("tablewake.aws.cost", "pipeline="+w.Pipeline, "service=dynamodb"); v <= 0 {
			t.Errorf("invocation %d: its rows cost $%v", invocation, v)
		}
		checkInvocations(t, got, invocation)
		for _, signal := range []string{"metrics", "traces"} {
			if r := got.resources[signal]; r["service.name"] != w.Pipeline || r["faas.name"] == "" {
				t.Errorf("the resource of %s is %v", signal, r)
			}
		}
		if bytes.Contains(got.raw, []byte("canary")) {
			t.Error("the collector received something of an item")
		}
	}
}

// checkInvocations checks that each invocation has one complete trace. The page and the Writes are within the
// invocation, the calls are within a Write, and each Write is linked to the page.
func checkInvocations(t *testing.T, got received, invocations int) {
	t.Helper()
	const served = 2 // kind of the span of a request in OTLP
	by := map[string]span{}
	for _, s := range got.spans {
		by[s.SpanID] = s
	}
	count := map[string]int{}
	for _, s := range got.spans {
		parent, known := by[s.ParentSpanID]
		switch {
		case s.Name == "tablewake.page":
			count["pages"]++
			if !known || parent.Kind != served {
				t.Errorf("a page stands within %q", parent.Name)
			}
		case s.Name == "tablewake.write":
			count["writes"]++
			if !known || parent.Kind != served {
				t.Errorf("a Write stands within %q", parent.Name)
			}
			if len(s.Links) == 0 || slices.ContainsFunc(s.Links, func(l struct{ SpanID string }) bool {
				return by[l.SpanID].Name != "tablewake.page" || by[l.SpanID].TraceID != s.TraceID
			}) {
				t.Errorf("a Write is linked to %v", s.Links)
			}
		case s.Kind == served:
			count["invocations"]++
		case parent.Name == "tablewake.write":
			count["calls"]++
		}
		if known && parent.TraceID != s.TraceID {
			t.Errorf("%s is of another trace than %s, which it stands within", s.Name, parent.Name)
		}
	}
	if count["invocations"] != invocations || count["pages"] != invocations || count["writes"] < invocations || count["calls"] < invocations {
		t.Errorf("of %d invocations arrived %v", invocations, count)
	}
}
