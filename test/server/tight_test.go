package server

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// bulk sends documents of size bytes. It returns the status of the answer, and the number of items by status.
func bulk(t *testing.T, c *http.Client, url, index string, documents, size int) (status int, items map[int]int) {
	var body bytes.Buffer
	for range documents {
		fmt.Fprintf(&body, "{\"index\":{}}\n{\"a\":%q}\n", strings.Repeat("x", size))
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/"+index+"/_bulk", &body)
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := c.Do(req)
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer resp.Body.Close()
	var answer struct {
		Items []struct{ Index struct{ Status int } }
	}
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(b, &answer)
	}
	if err != nil {
		t.Error(err)
	}
	items = make(map[int]int)
	for _, i := range answer.Items {
		items[i.Index.Status]++
	}
	return resp.StatusCode, items
}

func TestTheTightNodeRefusesInEachWay(t *testing.T) {
	url, index := TightOpenSearch().Endpoint(t), "tight-"+strings.ToLower(rand.Text())
	kept := &http.Transport{} // a 413 arrives while the client sends; without keep-alive it may get an error instead
	defer kept.CloseIdleConnections()
	c := &http.Client{Transport: kept}
	if status, items := bulk(t, c, url, index, 1, 1); status != http.StatusOK || items[http.StatusCreated] != 1 {
		t.Fatalf("one document: %d, %v", status, items)
	}
	defer func() {
		req, err := http.NewRequest(http.MethodDelete, url+"/"+index, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}()
	if status, _ := bulk(t, c, url, index, 10, 10_000); status != http.StatusTooManyRequests {
		t.Errorf("100 KB at once: status %d, want 429", status)
	}
	if status, _ := bulk(t, c, url, index, 11, 100_000); status != http.StatusRequestEntityTooLarge {
		t.Errorf("1.1 MB at once: status %d, want 413", status)
	}
	for refused := 0; refused == 0; {
		if t.Context().Err() != nil {
			t.Fatal("small bulks side by side are never refused item by item")
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				_, items := bulk(t, c, url, index, 20, 50)
				mu.Lock()
				defer mu.Unlock()
				refused += items[http.StatusTooManyRequests]
			})
		}
		all.Wait()
	}
}
