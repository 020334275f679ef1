package rights

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/test/server"
)

// A scan fills sinks with the rights of a backfill only, while a consumer reads the stream with its own rights.
func TestBackfillHasItsRights(t *testing.T) {
	const file = "queue.yaml"
	w := newWorld(t)
	cfg := w.config(t, file)
	for _, key := range []string{"a", "b", "c"} {
		w.write(t, key, map[string]any{"Status": "paid", "Email": key + "@example.com", "Total": 7})
	}
	w.run(t, file, "consume", "--live", "--create", "--exit-when-idle", "1s", "--health", "off")

	consumer := exec.CommandContext(t.Context(), tablewake, "consume", "--live", "--health", "off", "-c", filepath.Join("testdata", file))
	consumer.Env = append(append(os.Environ(), w.env...), // not through the proxies
		"AWS_ENDPOINT_URL_DYNAMODB="+server.DynamoDB().Endpoint(t), "AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+server.DynamoDB().Endpoint(t),
		"AWS_ENDPOINT_URL_S3="+server.S3().Endpoint(t), "AWS_ENDPOINT_URL_SQS="+server.SQS().Endpoint(t))
	if err := consumer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = consumer.Process.Kill()
		_ = consumer.Wait()
	}()
	w.taken(t)
	backfill := policy.Statements(cfg, policy.Options{Runner: policy.Backfill})
	w.permit(backfill)
	w.run(t, file, "backfill", "--live", "--scan", "--sink", "own,sums", "--clock-skew", "0s", "--max-lag", "0")
	calls := w.taken(t)
	allowed(t, "a backfill", calls, backfill)
	for _, s := range backfill {
		switch s.Sid {
		case "SourceTable", "SourceStreams", "Leases", "StateTable", "StateClaims":
			called(t, "a backfill", calls, []policy.Statement{s}, nil)
		}
	}
}
