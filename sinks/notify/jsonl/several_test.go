package jsonl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/sinks/notify/jsonl"
)

// If several stores have the same file open, each event is in the file once.
func TestSeveralStoresAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	const publishers, events = 4, 25
	errs := make([]error, publishers)
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			s, err := jsonl.New(jsonl.Options{Path: path})
			for i := range events {
				if err == nil {
					err = s.Publish(context.Background(), messages(1000+100*p+i, i))
				}
			}
			if err == nil {
				err = s.Close()
			}
			errs[p] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(content(t, path))
	var want []string
	for i := range events {
		want = append(want, fmt.Sprint(i))
		for p := range publishers {
			want = append(want, fmt.Sprint(1000+100*p+i))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d events, want %d: %v", len(got), len(want), got)
	}
}

// If the file is removed, the store creates it again and forgets the events of the old file.
func TestARemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events", "events.jsonl")
	s := open(t, path)
	if err := s.Publish(t.Context(), messages(1, 2)); err != nil {
		t.Fatal(err)
	}
	for _, remove := range []string{path, filepath.Dir(path)} {
		if err := os.RemoveAll(remove); err != nil {
			t.Fatal(err)
		}
		if err := s.Publish(t.Context(), messages(2, 3)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != "2 3 " {
			t.Errorf("without %s: events %s", remove, got)
		}
	}
}

// If a line is not an event, the store logs the line and copies it to a file of its own. Readers skip the line.
func TestABrokenLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(`{"id":"1"}`+"\nno event\n"+`{"id":"2"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		var got []string
		for line, err := range jsonl.Read(path) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		return strings.Join(got, " ")
	}
	const want = `{"id":"1"} {"id":"2"}`
	if got := read(); got != want {
		t.Errorf("before it is set aside: %s", got)
	}
	var log bytes.Buffer
	s, err := jsonl.New(jsonl.Options{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(log.String(), path+" line=2") {
		t.Errorf("the log says %s", log.String())
	}
	if err := s.Publish(t.Context(), messages(2, 3)); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != want+` {"id":"3"}` {
		t.Errorf("events %s", got)
	}
	if b, err := os.ReadFile(path + ".line2.broken"); err != nil || string(b) != "no event\n" {
		t.Errorf("set aside is %q (%v)", b, err)
	}
}
