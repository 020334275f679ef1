package lambda

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/esm"
	"github.com/tablewake/tablewake/test/eventruler"
	"github.com/tablewake/tablewake/test/faults"
)

// Fact 18: the filter criteria of `tablewake template` drop only records that no sink would have seen. A mapping with
// these criteria leaves the same results as a pipeline that reads every record.
func TestFact18_FilterCriteriaChangeNothing(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	text := strings.Replace(items, "sinks:", "filters: [{keep: {key_prefix: {PK: 'PRODUCT#'}}}]\nsinks:", 1)
	records := world.Begun(t, 400)
	f := deploy(t, w, text, deployment{})
	ruler, err := eventruler.Start(t.Context(), patterns(t, w, text))
	if err != nil {
		t.Fatal(err)
	}
	defer ruler.Close()
	m := esm.Mapping{Functions: []esm.Function{f}, Parallelization: 2, BatchSize: 50, ReportFailures: true, MaxRetries: -1, Filter: ruler.MatchAll}
	report, err := m.Run(t.Context(), esm.Shard{ID: "shardId-1", Records: records})
	if err != nil || report.Errors+report.Partial > 0 || report.Filtered == 0 || report.Filtered == len(records) {
		t.Fatalf("%+v, %v", report, err)
	}
	world.Same(t, f.read(t), world.Embedded(t, w.Config(t, world.Fixture, text, w.To), w.Names, records))
}

// patterns returns the filter patterns that `tablewake template` prints for a configuration.
func patterns(t *testing.T, w *world.World, text string) (all []string) {
	t.Helper()
	file := t.TempDir() + "/tablewake.yaml"
	write(t, file, []byte(text))
	cmd := exec.CommandContext(t.Context(), tablewake, "template", "-c", file, "-o", "filters")
	cmd.Env = environment(w, "")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var printed struct {
		FilterCriteria struct {
			Filters []struct {
				Pattern string `yaml:"Pattern"`
			} `yaml:"Filters"`
		} `yaml:"FilterCriteria"`
	}
	if err := yaml.Unmarshal(out, &printed); err != nil {
		t.Fatal(err)
	}
	for _, p := range printed.FilterCriteria.Filters {
		all = append(all, p.Pattern)
	}
	if len(all) == 0 {
		t.Fatalf("no patterns in\n%s", out)
	}
	return all
}

// An outage that is longer than max_hold leaves dead letters. The event of a schedule redrives them when the sink works
// again.
func TestAnOutageIsRedriven(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	proxy := faults.Before(t, w.To.OpenSearch)
	to := w.To
	to.OpenSearch = proxy.Endpoint()
	f := deploy(t, w, strings.Replace(items, "prefix: dead/", "prefix: dead/, max_hold: 1s, redrive: auto", 1), deployment{to: to, timeout: 10 * time.Second})
	f.answers(t, event(order(1, "a")), succeeded)
	if err := proxy.Begin(faults.Refusal(), time.Minute); err != nil {
		t.Fatal(err)
	}
	f.answers(t, event(product(2, "b"), order(3, "c")), succeeded)
	f.holds(t, "a b c", "", 3, 1)
	if err := proxy.End(); err != nil {
		t.Fatal(err)
	}
	f.answers(t, []byte(`{"tablewake":"redrive"}`), "{}")
	f.holds(t, "a b c", "b", 3, 0)
}
