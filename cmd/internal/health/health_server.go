package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/ownhost"
)

// Source returns the facts of a consumer. It may block until ctx is done, but must return an error when ctx is done.
type Source func(ctx context.Context) (Facts, error)

// Server answers GET /livez, /readyz and /status with 200 or 503 and a [Verdict] as JSON. [Paths] can replace the
// Verdict in the answer of /status, and has the answers of other paths.
//
// A request may name the host of another machine (package ownhost). /status and the page answer that request with 403.
// /metrics answers it with 403 only while the server listens on a loopback address. On other addresses, a scraper may
// use any name of the machine.
type Server struct {
	monitor *Monitor
	source  Source
	paths   Paths
	host    string // the host part of the listen address
	http    *http.Server
	listen  net.Listener
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// Paths has the answers of a [Server], except those of /livez and /readyz.
type Paths struct {
	Status  func(Verdict) any // the answer of /status. Default: the verdict alone
	Metrics http.Handler      // answers /metrics. Default: there is no such path

	// Page answers all other paths. Without PageEverywhere it answers them only while the server listens on a loopback
	// address. Default: there are no other paths.
	Page           http.Handler
	PageEverywhere bool
}

// Start listens on addr, like 127.0.0.1:8080, and observes source until Close.
func Start(addr string, monitor *Monitor, source Source, paths Paths) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("health endpoint: %w (give it another address, or off)", err)
	}
	return serve(l, ownhost.Part(addr), monitor, source, paths), nil
}

// serve starts a Server on l. host is the host part of the listen address.
func serve(l net.Listener, host string, monitor *Monitor, source Source, paths Paths) *Server {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{monitor: monitor, source: source, paths: paths, host: host, listen: l, stop: stop}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.probe(func(v Verdict) bool { return v.Live }))
	mux.HandleFunc("GET /readyz", s.probe(func(v Verdict) bool { return v.Ready }))
	mux.HandleFunc("GET /status", s.serveStatus)
	if paths.Metrics != nil {
		mux.HandleFunc("GET /metrics", s.serveMetrics)
	}
	if paths.Page != nil {
		mux.HandleFunc("GET /", s.servePage)
	}
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: WriteTimeout}
	s.work.Go(func() { s.watch(ctx) })
	s.work.Go(func() { _ = s.http.Serve(l) })
	return s
}

// WriteTimeout is the maximum time of an answer. Each stream of the page sets its own deadline instead.
const WriteTimeout = 10 * time.Second

// Addr returns the listen address.
func (s *Server) Addr() string { return s.listen.Addr().String() }

// HasPage reports whether the page is served: the server has a page, and its address permits that.
func (s *Server) HasPage() bool {
	return s.paths.Page != nil && (s.paths.PageEverywhere || ownhost.Loopback(s.listen))
}

// Close stops the server and waits for its goroutines.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	s.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// watch observes the consumer until ctx is done.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(s.monitor.o.Every)
	defer tick.Stop()
	for {
		s.observe(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// observe requests the facts of the consumer once.
func (s *Server) observe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.monitor.o.Every)
	defer cancel()
	if facts, err := s.source(ctx); err == nil {
		s.monitor.Observe(time.Now(), facts)
	}
}

// probe returns the handler of /livez and /readyz.
func (s *Server) probe(isHealthy func(Verdict) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		v := s.monitor.Verdict(time.Now())
		write(w, isHealthy(v), v)
	}
}

// serveStatus handles /status.
func (s *Server) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !ownhost.Is(r, s.host) {
		ownhost.Forbid(w)
		return
	}
	v := s.monitor.Verdict(time.Now())
	var answer any = v
	if s.paths.Status != nil {
		answer = s.paths.Status(v)
	}
	write(w, v.Live && v.Ready, answer)
}

// serveMetrics handles /metrics.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if ownhost.Loopback(s.listen) && !ownhost.Is(r, s.host) {
		ownhost.Forbid(w)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.paths.Metrics.ServeHTTP(w, r)
}

// servePage handles / and all other paths.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	switch {
	case !ownhost.Is(r, s.host):
		ownhost.Forbid(w)
	case !s.HasPage():
		http.Error(w,
			"there is no page on this address: `tablewake consume --page` serves one to all who reach it; /livez, /readyz and /status answer", http.StatusNotFound)
	default:
		s.paths.Page.ServeHTTP(w, r)
	}
}

// write writes an answer as JSON, with the status 200 if the consumer is healthy, otherwise 503.
func write(w http.ResponseWriter, isHealthy bool, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !isHealthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer) // it fails only if the client is gone
}
