package consume

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// answer returns what a path of the health endpoint answers.
func answer(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A consumer serves its page, and the same facts as JSON. Both have the ledgers of this process and the shards of all
// processes.
func TestConsume_Page(t *testing.T) {
	api, file := clitest.OnStream(t)
	clitest.Put(t, api.Table("shop"), 1, "paid")
	r := start(t, "consume", "-c", file, "--local", filepath.Join(t.TempDir(), "out"), "--health", "127.0.0.1:0", "--exit-when-idle", "10s")
	addr := strings.TrimSuffix(r.says(`page: (http://\S+)`)[1], "/")
	var got struct {
		Live     bool
		Consumer struct {
			Ledger struct {
				Source struct{ Read int }
			}
			Sinks []struct{ Sink string }
			Lag   *float64 `json:"lag_seconds"`
		}
		Fleet *struct {
			Healthy   bool
			Consumers []struct{ Alive bool }
			Shards    []struct{ State string }
		}
	}
	for range 300 {
		_, body := answer(t, addr+"/status")
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if got.Fleet != nil && len(got.Fleet.Shards) > 0 && got.Consumer.Ledger.Source.Read == 1 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	switch f := got.Fleet; {
	case !got.Live || got.Consumer.Ledger.Source.Read != 1 || len(got.Consumer.Sinks) == 0 || got.Consumer.Lag == nil:
		t.Errorf("/status says of this process %+v", got)
	case f == nil || len(f.Consumers) != 1 || !f.Consumers[0].Alive || len(f.Shards) == 0:
		t.Errorf("/status says of all %+v", f)
	}
	code, body := answer(t, addr+"/")
	if code != http.StatusOK || !strings.Contains(body, "<title>shop ") || !strings.Contains(body, "this process</span>") {
		t.Errorf("/ answers %d: %s", code, body)
	}
	if code := <-r.ended; code != cli.ExitOK {
		t.Errorf("exit code %d\n%s", code, r.text())
	}
}
