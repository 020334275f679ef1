package telemetry

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/test/server"
	"github.com/tablewake/tablewake/test/testmain"
)

const root = "../../.."

// collector starts a collector that writes to a file. It returns two endpoints and the path of the file.
func collector(t *testing.T) (endpoint, grpc, file string) {
	t.Helper()
	port, err := server.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "received.jsonl")
	node := server.Collector().StartFor(t, "grpc="+port, "file="+file)
	return node.Endpoint(), "http://127.0.0.1:" + port, file
}

// built builds a program under test and returns its path.
func built(t *testing.T, program string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(program))
	cmd := testmain.GoAsReleased("build", "-tags", "lambda.norpc,grpcnotrace", "-o", binary, program)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return binary
}

// replay replays the shop with an additional environment and returns the ledger.
func replay(t *testing.T, binary string, env ...string) pipeline.Ledger {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "replay", "-c", filepath.Join(root, "test/fixtures/shop/tablewake.yaml"),
		"--local", t.TempDir(), "-o", "json", filepath.Join(root, "test/fixtures/shop/stream.jsonl"))
	cmd.Env = append(os.Environ(), env...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run() // dead letters cause an exit code other than 0
	var sum struct{ Ledger pipeline.Ledger }
	if jsonErr := json.Unmarshal(out.Bytes(), &sum); jsonErr != nil {
		t.Fatalf("%v, %v\n%s", err, jsonErr, &log)
	}
	if !strings.Contains(log.String(), "telemetry: metrics by otlp") {
		t.Errorf("the command does not say where metrics go: %s", &log)
	}
	return sum.Ledger
}

// A real collector receives the spans and metrics of a run by either protocol. They agree with the ledger, have the
// name of the pipeline, and show nothing of any item.
func TestCollector(t *testing.T) {
	endpoint, grpc, file := collector(t)
	binary := built(t, "./cmd/tablewake")
	for protocol, at := range map[string]string{"http/protobuf": endpoint, "grpc": grpc} {
		t.Run(protocol, func(t *testing.T) {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			ledger := replay(t, binary, "OTEL_EXPORTER_OTLP_ENDPOINT="+at, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol,
				"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")
			if ledger.Source.Read == 0 {
				t.Fatal("nothing was read")
			}
			got := read(t, file)
			checkMetrics(t, got, ledger)
			checkSpans(t, got)
			for _, signal := range []string{"metrics", "traces"} {
				r := got.resources[signal]
				if r["service.name"] != "shop" || r["service.version"] == "" || r["deployment.environment.name"] != "test" || r["telemetry.sdk.language"] != "go" {
					t.Errorf("the resource of %s is %v", signal, r)
				}
			}
			checkSecrets(t, got.raw)
		})
	}
}

// checkMetrics compares the received metrics with the ledger.
func checkMetrics(t *testing.T, got received, l pipeline.Ledger) {
	t.Helper()
	want := func(n int64, name string, attrs ...string) {
		t.Helper()
		if v, there := got.total(name, append(attrs, "pipeline=shop")...); v != float64(n) || !there && n > 0 {
			t.Errorf("%s %v is %v, and the ledger says %d", name, attrs, v, n)
		}
	}
	want(l.Source.Read, "tablewake.source.records")
	want(l.Source.Routed, "tablewake.source.records", "outcome=routed")
	want(l.Source.Unrouted, "tablewake.source.records", "outcome=unrouted")
	want(l.Source.Undecodable, "tablewake.source.records", "outcome=undecodable")
	for reason, n := range l.Source.Filtered {
		want(n, "tablewake.source.records", "outcome=filtered", "reason="+reason)
	}
	for detector, n := range l.Events {
		want(n, "tablewake.events", "detector="+detector)
	}
	if len(l.Sinks) == 0 {
		t.Error("the ledger has no sinks")
	}
	for name, s := range l.Sinks {
		want(s.Written, "tablewake.sink.deliveries", "sink="+name, "outcome=written")
		want(s.Superseded, "tablewake.sink.deliveries", "sink="+name, "outcome=superseded")
		want(s.DeadLettered, "tablewake.sink.deliveries", "sink="+name, "outcome=dead_lettered")
		want(s.DeadLettered, "tablewake.sink.letters", "sink="+name)
		want(0, "tablewake.sink.pending", "sink="+name)
		if s.Written > 0 {
			if n, _ := got.total("tablewake.write.duration", "sink="+name); n == 0 {
				t.Errorf("no Write of %s was measured", name)
			}
		}
	}
}

// checkSpans checks that pages and Writes arrived, and that each Write is linked to pages that arrived.
func checkSpans(t *testing.T, got received) {
	t.Helper()
	pages, writes := map[string]bool{}, 0
	for _, s := range got.spans {
		pages[s.SpanID] = pages[s.SpanID] || s.Name == "tablewake.page"
	}
	for _, s := range got.spans {
		if s.Name != "tablewake.write" {
			continue
		}
		writes++
		if attrs := s.Attributes.texts(); attrs["pipeline"] != "shop" || attrs["sink"] == "" || attrs["deliveries"] == "" {
			t.Errorf("a Write has the attributes %v", attrs)
		}
		if len(s.Links) == 0 {
			t.Error("a Write is linked to nothing")
		}
		for _, l := range s.Links {
			if !pages[l.SpanID] {
				t.Error("a Write is linked to a page that did not arrive")
			}
		}
	}
	if writes == 0 || len(pages) <= writes {
		t.Errorf("%d spans arrived, %d of them Writes", len(pages), writes)
	}
}

// checkSecrets checks that no text of an item arrived. It leaves out texts that may be words of the configuration, too.
func checkSecrets(t *testing.T, raw []byte) {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join(root, "test/fixtures/shop/stream.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	looked := map[string]bool{}
	for _, m := range regexp.MustCompile(`"S":"([^"]{5,})"`).FindAllSubmatch(stream, -1) {
		value := string(m[1])
		if looked[value] || !strings.ContainsAny(value, "@#- ") && strings.ToLower(value) == value {
			continue // "completed" is also the name of an event in the configuration
		}
		looked[value] = true
		if i := bytes.Index(raw, m[1]); i >= 0 {
			t.Errorf("the collector received %q of an item: ...%s...", value, raw[max(0, i-100):i+50])
		}
	}
	if len(looked) < 100 {
		t.Errorf("only %d texts of items were looked for", len(looked))
	}
}
