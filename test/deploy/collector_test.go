package deploy

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

// sidecar returns a function that makes commands of the collector. The collector gets its configuration as in the task.
func sidecar(t *testing.T, config string, env ...string) func(args ...string) *exec.Cmd {
	t.Helper()
	dir, err := server.Collector().Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "collector"), append(args, "--config=env:COLLECTOR_CONFIG")...)
		cmd.Env = append([]string{"COLLECTOR_CONFIG=" + config}, env...)
		return cmd
	}
}

// sidecarConfig returns the file whose text is the parameter CollectorConfig.
func sidecarConfig(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "deploy", "otel-collector.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 4096 {
		t.Errorf("the collector's configuration has %d bytes, and a parameter of CloudFormation 4,096 at most", len(b))
	}
	return string(b)
}

// The collector forwards all telemetry of a consumer, even the last part. The collector is stopped after the consumer,
// and sends what is left.
func TestTheCollectorHandsOn(t *testing.T) {
	t.Parallel()
	grpc, err := server.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	port, err := server.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "received.jsonl")
	backend := server.Collector().StartFor(t, "grpc="+grpc, "file="+file)

	cmd := sidecar(t, sidecarConfig(t), "OTLP_PORT="+port, "OTLP_ENDPOINT="+backend.Endpoint(), "OTLP_AUTHORIZATION=Bearer secret")()
	log := &buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	until(t, "the collector takes a metric", func() bool {
		r, err := http.Post("http://127.0.0.1:"+port+"/v1/metrics", "application/json", strings.NewReader(metric))
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	time.Sleep(time.Second) // the collector accepts metrics before it handles signals
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), "tablewake.reader.lag") {
		t.Errorf("nothing of it arrived: %v", err)
	}
}

// metric is an OTLP request with one gauge.
const metric = `{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "tablewake.reader.lag", "unit": "s",
"gauge": {"dataPoints": [{"timeUnixNano": "1772438400000000000", "asDouble": 3}]}}]}]}]}`

func TestAWrongCollectorConfigurationIsFound(t *testing.T) {
	t.Parallel()
	text := sidecarConfig(t)
	for _, change := range [][2]string{{"", ""}, {"check_interval", "check_intervall"}, {"processors: [memory_limiter, batch]", "processors: [memory_limiter, batcher]"}} {
		out, err := sidecar(t, strings.Replace(text, change[0], change[1], 1), "OTLP_ENDPOINT=https://otlp.example.com")("validate").CombinedOutput()
		if right := change[0] == ""; right != (err == nil) {
			t.Errorf("with %q: %v\n%s", change[1], err, out)
		}
	}
}
