package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const streamARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

// record is a record of an event, of the key and the sequence number; more are members of it.
func recordJSON(key string, sequence int, more ...string) string {
	return fmt.Sprintf(`{"eventID":"e%[2]d","eventName":"INSERT","eventSource":"aws:dynamodb","eventSourceARN":%[3]q,"awsRegion":"eu-central-1",`+
		`"dynamodb":{"ApproximateCreationDateTime":1767323045,"SequenceNumber":"%[2]d","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":%[1]q}},"NewImage":{"PK":{"S":%[1]q},"Secret":{"S":"the secret"}}}%[4]s}`,
		key, sequence, streamARN, strings.Join(append([]string{""}, more...), ","))
}

func event(records ...string) string { return `{"Records":[` + strings.Join(records, ",") + `]}` }

// records have the keys, and the sequence numbers 101, 102, ...
func records(keys ...string) string {
	var rs []string
	for i, k := range keys {
		rs = append(rs, recordJSON(k, 101+i))
	}
	return event(rs...)
}

// store is a sink that keeps the keys that it receives, and fails on request.
type store struct {
	fail func(ctx context.Context, key string) error // Default: nothing fails

	mu      sync.Mutex
	written []string
}

// Write writes one after the other.
func (s *store) Write(ctx context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i := range ds {
		v, _ := ds[i].Change.Keys.Get("PK")
		key, _ := v.Text()
		if s.fail != nil {
			if err := s.fail(ctx, key); err != nil {
				failed.Add(i, err)
				continue
			}
		}
		s.mu.Lock()
		s.written = append(s.written, key)
		s.mu.Unlock()
	}
	return failed.OrNil()
}

func (s *store) keys() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.written, " ")
}

// graveyard keeps letters, and fails on request.
type graveyard struct {
	fail func() error

	mu      sync.Mutex
	letters []pipeline.DeadLetter
}

// Put keeps all letters, or none.
func (g *graveyard) Put(_ context.Context, letters []pipeline.DeadLetter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		if err := g.fail(); err != nil {
			return err
		}
	}
	g.letters = append(g.letters, letters...)
	return nil
}

func (g *graveyard) classes() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var classes []string
	for _, l := range g.letters {
		classes = append(classes, l.Class+" "+l.Sequence)
	}
	return strings.Join(classes, ", ")
}

// assemble is a pipeline of one sink. Its content is checked at the end of the test.
func assemble(t *testing.T, sink pipeline.Sink, letters pipeline.DeadLetters, change ...func(*pipeline.Options)) *pipeline.Pipeline {
	t.Helper()
	o := pipeline.Options{Name: "shop", DeadLetters: letters, Routes: []pipeline.Route{{Name: "store", Sink: sink, Concurrency: 1, Batch: pipeline.Batch{Count: 1}}}}
	for _, c := range change {
		c(&o)
	}
	p, err := pipeline.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l := p.Ledger()
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		for name, s := range l.Sinks {
			if s.Pending != 0 {
				t.Errorf("%d deliveries to %s are pending", s.Pending, name)
			}
		}
	})
	return p
}

// failures are the identifiers that an answer names.
func failures(t *testing.T, answer []byte) string {
	t.Helper()
	var got struct {
		Failures []struct{ ItemIdentifier string } `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.Failures == nil {
		t.Fatalf("the answer %s is none: %v", answer, err)
	}
	var ids []string
	for _, f := range got.Failures {
		if f.ItemIdentifier == "" {
			t.Errorf("the answer %s has an empty identifier, which fails the whole batch", answer)
		}
		ids = append(ids, f.ItemIdentifier)
	}
	return strings.Join(ids, " ")
}

// said is what was logged.
type said struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write takes a line.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *said) option() Option { return WithLogger(slog.New(slog.NewTextHandler(s, nil))) }

var errDown = errors.New("the store is down")
