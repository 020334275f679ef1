package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// project is a file as Docker Compose reads it, with its own parser, its schema and its checks of references.
type project struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		Build       *struct {
			Args map[string]string
		}
		Depends  map[string]struct{ Condition string } `json:"depends_on"`
		Health   *struct{ Test []string }              `json:"healthcheck"`
		ReadOnly bool                                  `json:"read_only"`
		Grace    string                                `json:"stop_grace_period"`
	}
}

func compose(t *testing.T, file string) (p project, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=test/tools/go.mod", "github.com/compose-spec/compose-go/v2/cmd", "-format", "json", file)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Log(said.String())
		return p, err
	}
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return p, nil
}

// problems returns the mistakes that compose's parser does not find.
func (p project) problems() []string {
	var all []string
	for name, s := range p.Services {
		_, tag, pinned := strings.Cut(s.Image, ":")
		if s.Build == nil && (!pinned || tag == "latest") {
			all = append(all, fmt.Sprintf("%s: the image %q has no version", name, s.Image))
		}
		for on, d := range s.Depends {
			other, there := p.Services[on]
			if !there {
				all = append(all, name+" waits for "+on+", which is not there")
			} else if d.Condition == "service_healthy" && (other.Health == nil || len(other.Health.Test) == 0) {
				all = append(all, name+" waits for "+on+" to be healthy, which nobody checks")
			}
		}
	}
	return all
}

func TestComposeFile(t *testing.T) {
	t.Parallel()
	p, err := compose(t, "deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range p.problems() {
		t.Error(problem)
	}
	// The servers are of the versions that the tests run.
	for image, version := range map[string]string{"amazon/dynamodb-local": "dynamodb-local-", "versity/versitygw": "versitygw-", "softwaremill/elasticmq-native": "elasticmq-", "opensearchproject/opensearch": "opensearch-"} {
		found := false
		for _, s := range p.Services {
			if tag, is := strings.CutPrefix(s.Image, image+":"); is {
				for _, k := range server.Kinds() {
					found = found || strings.HasPrefix(k.Folder(), version+tag)
				}
			}
		}
		if !found {
			t.Errorf("%s is not in the version that the tests run", image)
		}
	}
	if s := p.Services["tablewake"]; !s.ReadOnly || s.Grace != "30s" {
		t.Errorf("read_only: %v, stop_grace_period: %v", s.ReadOnly, s.Grace)
	}
	if out, err := sidecar(t, p.Services["collector"].Environment["COLLECTOR_CONFIG"])("validate").CombinedOutput(); err != nil {
		t.Errorf("the collector's configuration: %v\n%s", err, out)
	}
}

func TestAWrongComposeFileIsFound(t *testing.T) {
	t.Parallel()
	for _, change := range [][2]string{
		{"healthcheck:", "healtcheck:"}, {"condition: service_healthy", "condition: service_hearty"},
		{"      sqs: {condition", "      sqz: {condition"}, {"opensearch:2.19.6", "opensearch:latest"},
		{"test: [CMD, nc, -z, 127.0.0.1, '7070']", "disable: true"},
	} {
		p, err := compose(t, mutant(t, "deploy/compose.yaml", change[0], change[1]))
		if err == nil && len(p.problems()) == 0 {
			t.Errorf("%q passes", change[1])
		}
	}
}

// composed returns the environment of the compose file with the servers of the tests, and with the test's own names.
func (w *shop) composed(t *testing.T, environment map[string]string) []string {
	t.Helper()
	queue := server.SQS().Endpoint(t)
	if r, err := http.Get(queue + "/?Action=CreateQueue&Version=2012-11-05&QueueName=" + w.table); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("no queue is made: %v", err)
	}
	to := strings.NewReplacer("http://dynamodb:8000", server.DynamoDB().Endpoint(t), "http://s3:7070", server.S3().Endpoint(t),
		"http://sqs:9324", queue, "http://opensearch:9200", server.OpenSearch().Endpoint(t))
	env := w.env
	for name, value := range environment {
		if !strings.HasPrefix(name, "OTEL_") { // no process listens to telemetry
			env = append(env, name+"="+to.Replace(value))
		}
	}
	return append(env, "TABLEWAKE_INDEX="+w.table, "COMPLETED_QUEUE="+w.table)
}

func TestTheComposedConfigurationIsValid(t *testing.T) {
	t.Parallel()
	out, err := run(t, exec.CommandContext(t.Context(), "go", "run", "./cmd/tablewake", "validate", "-c", filepath.Join("deploy", "compose", "tablewake.yaml")))
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
