package health_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/health"
)

func TestHealthOfAConsumer(t *testing.T) {
	facts := health.Facts{Live: true, Ready: true, HeartbeatsSucceed: true, HasReadLeases: true, Shards: 3}
	for name, tt := range map[string]struct {
		facts health.Facts
		args  string
		code  int
		says  string
	}{
		"idle": {facts, "", 0, "idle: 3 shards, 0 records pending\n"},
		"stuck, which no restart fixes": {health.Facts{Live: true, HeartbeatsSucceed: true, HasReadLeases: true, Shards: 1, Reasons: []string{"calls fail"}}, "", 0,
			"stuck: 1 shard, 0 records pending; calls fail\n"},
		"stuck, and asked whether it works": {health.Facts{Live: true, HeartbeatsSucceed: true, HasReadLeases: true, Shards: 1, Reasons: []string{"calls fail"}}, "--ready", 1,
			"stuck: 1 shard, 0 records pending; calls fail\n"},
		"dead":    {health.Facts{Reasons: []string{"its loop ended"}}, "", 1, "dead: 0 shards, 0 records pending; its loop ended\n"},
		"as JSON": {facts, "--ready -o json", 0, `{"live":true,"ready":true,"state":"idle","reasons":[],`},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := health.NewMonitor(health.Options{})
			monitor.Observe(time.Now(), tt.facts)
			source := health.Source(func(context.Context) (health.Facts, error) { return tt.facts, nil })
			server, err := health.Start("127.0.0.1:0", monitor, source, health.Paths{})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			code, out, said := askHealth(server.Addr(), tt.args)
			if code != tt.code || !strings.HasPrefix(out, tt.says) || said != "" {
				t.Errorf("exit code %d, want %d; it printed %q, want %q; %s", code, tt.code, out, tt.says, said)
			}
		})
	}
}

func TestHealthOfNobody(t *testing.T) {
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	defer other.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, tt := range map[string]struct{ url, says string }{
		"nobody listens":  {gone.URL, "connection refused"},
		"a stranger does": {stranger.URL, "404 Not Found"},
		"it answers JSON": {other.URL, "is not the answer of a consumer"},
	} {
		code, out, said := askHealth(strings.TrimPrefix(tt.url, "http://"), "")
		if code != cli.ExitFailure || out != "" || !strings.Contains(said, tt.says) || !strings.Contains(said, "tablewake consume --health") {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, said)
		}
	}
}

func askHealth(address, args string) (code int, out, said string) {
	var stdout, stderr bytes.Buffer
	code = clitest.Program{health.New}.Main(append([]string{"health", "--address", address}, strings.Fields(args)...), cli.Streams{Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}
