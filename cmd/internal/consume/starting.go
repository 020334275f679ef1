package consume

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/patience"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// starting is a consumer that is about to be: what it waits for, until it is there. The zero starting logs nothing.
type starting struct {
	log *slog.Logger

	mu    sync.Mutex
	waits string     // what failed last
	begun *consuming // nil before
}

// waiting makes a step of a start, and waits for servers as long as a running consumer does.
func waiting[T any](ctx context.Context, s *starting, step string, do func() (T, error)) (T, error) {
	log := s.log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return patience.Wait(ctx, log, step, s.fails, do)
}

func (s *starting) fails(step string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = step + " fails, and is tried again: " + redact.LogText(err)
}

func (s *starting) done(c *consuming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = c
}

// consumer is the consumer, nil while there is none; then why.
func (s *starting) consumer() (c *consuming, waits string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun, s.waits
}

// facts are what the endpoint judges by: a process that starts is live, and not ready.
func (s *starting) facts(ctx context.Context) (health.Facts, error) {
	c, waits := s.consumer()
	if c != nil {
		return c.facts(ctx)
	}
	f := health.Facts{Live: true, Reasons: []string{"it is starting"}}
	if waits != "" {
		f.Reasons = append(f.Reasons, waits)
	}
	return f, nil
}

// status is what /status shows of it.
func (s *starting) status() any {
	if c, _ := s.consumer(); c != nil {
		return consumerStatusOf(c.source.Status(), c.pipeline.HeldBack())
	}
	return nil
}

// serve starts the health endpoint, before anything that may take long; nil where there is to be none.
func (o *options) serve(cfg *config.Config, log io.Writer) (*health.Server, error) {
	if o.health == "off" {
		return nil, nil
	}
	judge := health.NewJudge(health.Options{Patience: patienceOf(cfg), Status: "tablewake status " + o.CommandLine(cfg)})
	s, err := health.Start(o.health, judge, health.SourceFunc(o.start.facts), o.start.status)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "health: http://%s/livez, /readyz, /status\n", s.Addr())
	return s, nil
}
