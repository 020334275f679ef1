package consume

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// A scrape shows what a running consumer does, without any exporter. "metrics: none" removes the endpoint.
func TestConsume_Metrics(t *testing.T) {
	api, file := clitest.OnStream(t)
	clitest.Put(t, api.Table("shop"), 1, "paid")
	clitest.Put(t, api.Table("shop"), 2, "paid")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(without, append(bytes.Clone(text), "metrics: none\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file string
		code int
		want []string
	}{
		{file, http.StatusOK, []string{
			"# TYPE tablewake_sink_deliveries_total counter\n", `tablewake_sink_deliveries_total{outcome="written",pipeline="shop",sink="orders"} 2` + "\n",
			`tablewake_reader_leases{pipeline="shop",table="shop"} 1` + "\n", `tablewake_reader_contact_ratio{pipeline="shop"} 1` + "\n",
			`tablewake_aws_requests_total{operation="GetRecords",outcome="ok",pipeline="shop",service="dynamodbstreams"} `,
			`tablewake_write_duration_seconds_bucket{pipeline="shop",sink="orders",le="+Inf"} `, `target_info{service_name="shop",`,
		}},
		{without, http.StatusNotFound, nil},
	} {
		r := start(t, "consume", "-c", tt.file, "--local", filepath.Join(t.TempDir(), "out"), "--health", "127.0.0.1:0")
		addr := r.says(`health: (http://[^/]+)/livez`)[1]
		page, missing := "", "a first scrape"
		for i := 0; missing != "" && i < 600; i++ { // until both changes are written
			var code int
			if code, page = answer(t, addr+"/metrics"); code != tt.code {
				t.Fatalf("/metrics with %s answers %d: %s", tt.file, code, page)
			}
			missing = ""
			for _, line := range tt.want {
				if !strings.Contains(page, line) {
					missing = line
				}
			}
			if missing != "" {
				time.Sleep(50 * time.Millisecond)
			}
		}
		if missing != "" {
			t.Errorf("no %s in\n%s", missing, page)
		}
		r.says("took a lease|created|consumer [^ ]+-")
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := <-r.ended; code != cli.ExitOK {
			t.Errorf("exit code %d\n%s", code, r.text())
		}
	}
}
