package jsonl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
)

func open(t *testing.T, path string) *jsonl.Store {
	t.Helper()
	s, err := jsonl.New(jsonl.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func messages(ids ...int) []notify.Message {
	var ms []notify.Message
	for _, id := range ids {
		ms = append(ms, notify.Message{ID: fmt.Sprint(id), Body: fmt.Appendf(nil, `{"id":"%d"}`, id)})
	}
	return ms
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`{"id":"`, "", `"}`, "", "\n", " ").Replace(string(b))
}

func TestPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "events.jsonl")
	s := open(t, path)
	for _, ms := range [][]notify.Message{messages(1, 2), messages(2, 3, 3), messages(1), nil} {
		if err := s.Publish(t.Context(), ms); err != nil {
			t.Fatal(err)
		}
	}
	if got := content(t, path); got != "1 2 3 " {
		t.Errorf("events %s", got)
	}

	// A crash cut the last line. The events that are published again are complete, and each event is there once.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(`{"id":"1"}`)*2+2+5)); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if err := s.Publish(t.Context(), messages(2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "1 2 3 4 " {
		t.Errorf("after the repair: events %s", got)
	}
}

func TestPublishersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	s := open(t, path)
	const publishers, events = 4, 25
	errs := make([]error, publishers)
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for i := range events {
				errs[p] = errors.Join(errs[p], s.Publish(context.Background(), messages(100*p+i, i)))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := len(strings.Fields(content(t, path))); got != publishers*events {
		t.Errorf("%d events, want %d", got, publishers*events)
	}
}

func TestErrors(t *testing.T) {
	if _, err := jsonl.New(jsonl.Options{}); err == nil || !strings.Contains(err.Error(), "Path") {
		t.Errorf("without a path: %v", err)
	}
	s := open(t, filepath.Join(t.TempDir(), "events.jsonl"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, retry := pipeline.Retryable(s.Publish(ctx, messages(1))); !retry {
		t.Error("a canceled Publish is not to be tried again")
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if err := s.Publish(t.Context(), messages(1)); err == nil {
		t.Error("a closed store takes events")
	}
}
