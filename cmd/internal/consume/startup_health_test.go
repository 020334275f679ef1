package consume

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// running is a command that runs in this process.
type running struct {
	t     *testing.T
	mu    sync.Mutex
	said  bytes.Buffer
	ended chan int
}

func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(b)
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

func start(t *testing.T, args ...string) *running {
	r := &running{t: t, ended: make(chan int, 1)}
	go func() { r.ended <- program.Main(args, cli.Streams{Out: r, Err: r}) }()
	return r
}

// says waits until the output matches an expression, and returns the match.
func (r *running) says(expr string) []string {
	r.t.Helper()
	for range 1200 {
		if found := regexp.MustCompile(expr).FindStringSubmatch(r.text()); found != nil {
			return found
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.t.Fatalf("it does not say %q:\n%s", expr, r.text())
	return nil
}

// A start waits for servers as a running consumer does, and says so. Meanwhile the consumer is live, but not ready.
func TestConsume_StartWaits(t *testing.T) {
	api, file := clitest.OnStream(t)
	clitest.Put(t, api.Table("shop"), 1, "paid")
	var mu sync.Mutex
	away := true
	api.FailWhen(func(c streamtest.Call) streamtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if away && c.Op == "ListStreams" {
			return streamtest.Fault{Code: "ThrottlingException"}
		}
		return streamtest.Fault{}
	})
	r := start(t, "consume", "-c", file, "--local", filepath.Join(t.TempDir(), "out"), "--health", "127.0.0.1:0", "--exit-when-idle", "100ms")
	addr := r.says(`health: (http://[^/]+)/livez`)[1]
	r.says("a start waits for a server.*listing the streams")
	get := func(path string) (status int, body string) {
		answer, err := http.Get(addr + path)
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, r.text())
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode, string(text)
	}
	status, body := get("/readyz")
	for range 200 { // the reason follows the first failed tries
		if strings.Contains(body, "listing the streams fails, and is tried again") {
			break
		}
		time.Sleep(100 * time.Millisecond)
		status, body = get("/readyz")
	}
	if status != 503 || !strings.Contains(body, "listing the streams fails, and is tried again") {
		t.Errorf("/readyz answers %d: %s", status, body)
	}
	if status, body := get("/livez"); status != 200 {
		t.Errorf("/livez answers %d: %s", status, body)
	}
	mu.Lock()
	away = false
	mu.Unlock()
	if code := <-r.ended; code != cli.ExitOK {
		t.Errorf("exit code %d\n%s", code, r.text())
	}
	wants(t, r.text(), "shop: 1 record")
}

// If its terminal closes, a consumer stops softly, as after SIGTERM.
func TestConsume_HangUp(t *testing.T) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // the tests themselves may run under nohup
	defer signal.Stop(hup)
	_, file := clitest.OnStream(t)
	r := start(t, "consume", "-c", file, "--local", filepath.Join(t.TempDir(), "out"), "--health", "off")
	r.says("took a lease|created|consumer [^ ]+-")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := <-r.ended; code != cli.ExitOK {
		t.Errorf("exit code %d\n%s", code, r.text())
	}
	wants(t, r.text(), "stopping: what was read is written")
}
