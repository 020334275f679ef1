package fleet_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/consume"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
)

// shown keeps what a running command prints.
type shown struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shown) count(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), part)
}

// status --watch looks until it is interrupted, and exits as its last look. Here the last look finds no consumer.
func TestStatus_Watch(t *testing.T) {
	program := clitest.Program{fleet.NewStatus(nil), consume.New}
	api, file := clitest.OnStream(t)
	clitest.Put(t, api.Table("shop"), 1, "paid")
	dir := filepath.Join(t.TempDir(), "out")
	program.Run(t, cli.ExitOK, "consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "200ms")
	for _, tt := range []struct {
		args []string
		part string // part of the output of each look
	}{{[]string{"--watch", "1s"}, "the next look is in 1s"}, {[]string{"--watch=1s", "-o", "json"}, `"no consumer reads`}} {
		var out, errs shown
		ended := make(chan int, 1)
		go func() {
			ended <- program.Main(append([]string{"status", "-c", file, "--local", dir}, tt.args...), cli.Streams{Out: &out, Err: &errs})
		}()
		for range 600 {
			if out.count(tt.part) >= 2 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := <-ended; code != cli.ExitUnhealthy || out.count(tt.part) < 2 {
			t.Errorf("status %v ends with %d, want %d; it shows %q %d times", tt.args, code, cli.ExitUnhealthy, tt.part, out.count(tt.part))
		}
	}
	for _, wrong := range [][]string{{"--watch", "1ms"}, {"--watch=soon"}, {"10s"}, {"--watch", "1s", "2s"}} {
		program.Run(t, cli.ExitUsage, append([]string{"status", "-c", file, "--local", dir}, wrong...)...)
	}
}
