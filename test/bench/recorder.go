package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// gauge counts calls in flight, and remembers the highest count.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

func (g *gauge) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
}

func (g *gauge) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
}

// bulks keeps the bulk requests that go through it.
type bulks struct {
	gauge
	base http.RoundTripper

	keep   bool
	urls   []string
	bodies [][]byte
}

// RoundTrip passes a request on.
func (b *bulks) RoundTrip(r *http.Request) (*http.Response, error) {
	if !b.keep || !strings.HasSuffix(r.URL.Path, "/_bulk") {
		return b.base.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.enter()
	defer b.leave()
	b.mu.Lock()
	b.urls, b.bodies = append(b.urls, r.URL.String()), append(b.bodies, body)
	b.mu.Unlock()
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return b.base.RoundTrip(again)
}

// send sends the kept requests, with as many in flight as there were.
func (b *bulks) send(ctx context.Context) error {
	client := &http.Client{Transport: b.base}
	return loop(len(b.bodies), b.most, func(i int) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.urls[i], bytes.NewReader(b.bodies[i]))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/x-ndjson")
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK || bytes.Contains(answer[:min(len(answer), 64)], []byte(`"errors":true`)) {
			return fmt.Errorf("bulk: %s", resp.Status)
		}
		return nil
	})
}

// loop calls do for 0 to n-1 in several goroutines, and returns the first error.
func loop(n, goroutines int, do func(i int) error) error {
	var mu sync.Mutex
	var failed error
	next := 0
	var wg sync.WaitGroup
	for range max(goroutines, 1) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				done := i >= n || failed != nil
				mu.Unlock()
				if done {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}
