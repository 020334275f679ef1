package template_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/template"
	"github.com/tablewake/tablewake/pipeline/config"
)

var update = flag.Bool("update", false, "write template.yaml and the golden files anew")

var root = filepath.Join("..", "..", "..")

// example has the variables of the example's environment, and what stands for them in template.yaml.
var example = []struct{ variable, name, ref, arn string }{
	{"TABLEWAKE_NAME", "example", "!Ref Pipeline", ""},
	{"TABLEWAKE_TABLE", "example-table", "!Ref Table", "${Table}"},
	{"TABLEWAKE_STATE", "example-state", "!Ref State", "${State}"},
	{"TABLEWAKE_VIEWS", "example-views", "!Ref Views", "${Views}"},
	{"TABLEWAKE_BUCKET", "example-data", "!Ref Data", "${Data}"},
	{"TABLEWAKE_DEAD_LETTERS", "example-dead", "!Ref Letters", "${Letters}"},
	{"TABLEWAKE_REDRIVE", "auto", "auto", ""},
}

func load(t *testing.T, file string, getenv func(string) (string, bool)) *config.Config {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(file, b, getenv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// golden compares text with a file, or writes the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is another (-it +printed); go test -update writes it:\n%s", file, diff)
	}
}

// template.yaml is the output of `tablewake template` for deploy/example. Its FilterCriteria and its policies follow
// from the configuration that it deploys.
func TestTheTreesTemplate(t *testing.T) {
	o := template.Options{Example: true, Names: map[string]string{}, Pipeline: "${Pipeline}"}
	cfg := load(t, filepath.Join(root, "deploy", "example", "tablewake.yaml"), func(name string) (string, bool) {
		for _, e := range example {
			if e.variable == name {
				return e.name, true
			}
		}
		return "", false
	})
	for _, e := range example {
		if e.arn != "" {
			o.Names[e.name] = e.arn
		}
		o.Environment = append(o.Environment, template.Variable{Name: e.variable, Value: e.ref})
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("the example is warned of: %v", cfg.Warnings)
	}
	var b bytes.Buffer
	if err := template.SAM(&b, cfg, o); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(root, "template.yaml"), b.Bytes())
}

// Alarms and the dashboard read only metrics that METRICS.md lists.
func TestMetricsAreThoseOfTheTable(t *testing.T) {
	metrics, err := os.ReadFile(filepath.Join(root, "pipeline", "telemetry", "METRICS.md"))
	if err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`tablewake\.(sink|audit|handler|reader|source|write)\.[a-z.]*[a-z]`).FindAllString(string(printed), -1)
	for _, name := range names {
		if !strings.Contains(string(metrics), "| `"+name+"` |") {
			t.Errorf("template.yaml reads %s, which is no metric", name)
		}
	}
	if len(names) < 5 {
		t.Errorf("template.yaml reads %d metrics", len(names))
	}
}
