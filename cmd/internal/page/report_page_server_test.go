package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/page/pagetest"
)

// shown keeps what a server prints.
type shown struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shown) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// ask returns the answer to a request with this Host. If host is "", the Host is that of the URL.
func ask(t *testing.T, url, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
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

// The page of `status --serve` shows the latest report to this machine alone. /status has the report as JSON.
func TestServeReports(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var log shown
	report := pagetest.Fleet().Fleet
	report.At = time.Now().UTC()
	ended := make(chan error, 1)
	go func() {
		ended <- page.ServeReports(ctx, fleet.PageRequest{Addr: "127.0.0.1:0", Pipeline: "shop", Flags: pagetest.Flags, Log: &log, ReadReport: func(context.Context) (*fleet.Report, error) { return report, nil }})
	}()
	var found []string
	for found == nil {
		time.Sleep(time.Millisecond)
		found = regexp.MustCompile(`page: (http://\S+)/\n`).FindStringSubmatch(log.String())
	}
	var body string
	for !strings.Contains(body, "1,242") { // until the first reading is shown
		time.Sleep(10 * time.Millisecond)
		var code int
		if code, body = ask(t, found[1]+"/", ""); code != http.StatusOK {
			t.Fatalf("/ is answered by %d: %s", code, body)
		}
	}
	if strings.Contains(body, "Records read <") || !strings.Contains(body, "Only the page of a consumer has them") {
		t.Errorf("the page has panels of a process")
	}
	code, answer := ask(t, found[1]+"/status", "localhost")
	want, _ := json.Marshal(report)
	var got, wanted any
	if json.Unmarshal([]byte(answer), &got) != nil || json.Unmarshal(want, &wanted) != nil || code != http.StatusServiceUnavailable || len(got.(map[string]any)) != len(wanted.(map[string]any)) {
		t.Errorf("/status is answered by %d: %s", code, answer)
	}
	for _, path := range []string{"/", "/status", "/events", "/page.css"} {
		if code, _ := ask(t, found[1]+path, "evil.example"); code != http.StatusForbidden {
			t.Errorf("%s of another host is answered by %d", path, code)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("interrupted it ends with %v", err)
	}
}

// If the stores cannot be read, /status has the error, and no earlier report.
func TestServeReports_Problem(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var log shown
	ended := make(chan error, 1)
	go func() {
		ended <- page.ServeReports(ctx, fleet.PageRequest{Addr: "127.0.0.1:0", Log: &log, ReadReport: func(context.Context) (*fleet.Report, error) { return nil, errors.New("no answer") }})
	}()
	var found []string
	for found == nil {
		time.Sleep(time.Millisecond)
		found = regexp.MustCompile(`page: (http://\S+)/\n`).FindStringSubmatch(log.String())
	}
	if code, answer := ask(t, found[1]+"/status", ""); code != http.StatusServiceUnavailable || answer != `{"fleet_error":"no answer"}`+"\n" {
		t.Errorf("/status is answered by %d: %s", code, answer)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The page is served on an address that others can reach only if the user says that this is meant.
func TestServeReports_Everywhere(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	o := fleet.PageRequest{Addr: "0.0.0.0:0", Log: io.Discard, ReadReport: func(context.Context) (*fleet.Report, error) { return nil, nil }}
	if err := page.ServeReports(ctx, o); err == nil || cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), "--page says that this is meant") {
		t.Errorf("it ends with %v", err)
	}
	o.Everywhere = true
	if err := page.ServeReports(ctx, o); err != nil {
		t.Errorf("with --page it ends with %v", err)
	}
}
