package consume

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/patience"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// startup is the state of a process before its consumer runs, while the health endpoint already answers. The zero
// startup logs nothing.
type startup struct {
	log     *slog.Logger
	monitor *health.Monitor // set before the endpoint is served

	mu      sync.Mutex
	problem string       // the last failed step, and its error; "": no step failed
	run     *consumerRun // nil: not started yet
}

// startStep calls do, a step of the start. It repeats the call after transient errors, as [patience.Retry] does.
func startStep[T any](ctx context.Context, s *startup, step string, do func() (T, error)) (T, error) {
	log := cmp.Or(s.log, slog.New(slog.DiscardHandler))
	return patience.Retry(ctx, log, step, s.stepFailed, do)
}

func (s *startup) stepFailed(step string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = step + " fails, and is tried again: " + redact.LogText(err)
}

func (s *startup) setRunning(c *consumerRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = c
}

// current returns the running consumer. Before the consumer runs, c is nil, and problem is the last failed step.
func (s *startup) current() (c *consumerRun, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run, s.problem
}

// healthFacts is the [health.Source] of the endpoint. A process that starts is live, but not ready.
func (s *startup) healthFacts(ctx context.Context) (health.Facts, error) {
	c, problem := s.current()
	if c != nil {
		return c.healthFacts(ctx)
	}
	f := health.Facts{Live: true, Reasons: []string{"it is starting"}}
	if problem != "" {
		f.Reasons = append(f.Reasons, problem)
	}
	return f, nil
}

// endpoint is the health endpoint, with the page.
type endpoint struct {
	*health.Server
	page *page.Page
}

// Close ends the streams of the page and stops the server.
func (e *endpoint) Close() error {
	e.page.Close()
	return e.Server.Close()
}

// serve starts the health endpoint. It returns nil with --health off. run calls it before the slow steps of a start.
func (o *options) serve(cfg *config.Config, log io.Writer) (*endpoint, error) {
	if o.healthAddress == "off" {
		return nil, nil
	}
	o.start.monitor = health.NewMonitor(health.Options{Patience: healthPatience(cfg),
		Status: "tablewake status " + o.CommandLine(cfg)})
	p := page.New(page.Options{Pipeline: cfg.Name, Flags: o.CommandLine(cfg), Source: o.start.pageStatus})
	paths := health.Paths{Status: p.StatusOf, Page: p, PageEverywhere: o.publicPage}
	names := "/livez, /readyz, /status"
	if o.metricsExporter != nil {
		paths.Metrics, names = o.metricsExporter, names+", /metrics"
	}
	s, err := health.Start(o.healthAddress, o.start.monitor, o.start.healthFacts, paths)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "health: http://%s%s\n", s.Addr(), names)
	if s.HasPage() {
		fmt.Fprintf(log, "page: http://%s/\n", s.Addr())
	}
	return &endpoint{s, p}, nil
}
