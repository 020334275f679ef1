package page_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/page/pagetest"
)

// changing is a status that a test can replace.
type changing struct {
	mu sync.Mutex
	s  page.Status
}

func (c *changing) get() page.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s
}

func (c *changing) set(s page.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s = s
}

// served serves a page by a server with short timeouts until the test ends.
func served(t *testing.T, o page.Options, timeout time.Duration) (url string, p *page.Page) {
	t.Helper()
	p = page.New(o)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		p.Close()
		_ = server.Close()
		<-ended
	})
	return "http://" + l.Addr().String(), p
}

// open connects to a stream of events until the test ends, and returns its lines. The channel ends with the stream.
func open(t *testing.T, url string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the stream has the type %s", kind)
	}
	lines := make(chan string)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(lines)
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		reading.Wait()
	})
	return lines
}

// await reads lines until one contains text. It returns false if the stream ends before.
func await(lines <-chan string, text string) bool {
	for line := range lines {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// A stream outlives the timeouts of its server, and brings only what changed.
func TestEvents_OutliveTheWriteTimeout(t *testing.T) {
	source := &changing{s: pagetest.Well()}
	const timeout = 300 * time.Millisecond
	url, _ := served(t, page.Options{Pipeline: "shop", Source: source.get, Every: 20 * time.Millisecond, Now: func() time.Time { return pagetest.Now }}, timeout)
	lines := open(t, url)
	if !await(lines, "data: foot") {
		t.Fatal("the stream ends before it brings the page")
	}
	time.Sleep(3 * timeout) // the server's timeouts use the real clock
	now := pagetest.Well()
	now.Verdict = &health.Verdict{State: health.Isolated, Live: true, Reasons: []string{"no recent heartbeat succeeded"}}
	source.set(now)
	if !await(lines, "data: verdict") || !await(lines, "has lost contact") {
		t.Fatal("the stream ends with the timeout of its server")
	}
}

// Close ends the open streams. A closed page refuses new ones.
func TestEvents_Close(t *testing.T) {
	url, p := served(t, pagetest.Options(pagetest.Well()), time.Second)
	lines := open(t, url)
	if !await(lines, "event: part") {
		t.Fatal("the stream brings nothing")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Close()
	}()
	for range lines {
	}
	<-ended
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a stream of a closed page is answered by %s", resp.Status)
	}
}

// Each line of a part becomes a line of its event, so that no part ends its event or begins another one.
func TestEvents_Lines(t *testing.T) {
	s := pagetest.Well()
	s.Consumer.Sinks[0].Sink = "a\n\nevent: part\ndata: b\r\rc"
	url, _ := served(t, pagetest.Options(s), time.Second)
	seen := 0
	for line := range open(t, url) {
		if strings.Contains(line, "\r") || line != "" && line != "event: part" && !strings.HasPrefix(line, "data: ") && !strings.HasPrefix(line, "retry: ") {
			t.Errorf("a line is %q", line)
		}
		if line == "data: foot" {
			break
		}
		if line == "event: part" {
			seen++
		}
	}
	if seen != 11 {
		t.Errorf("%d parts came", seen)
	}
}
