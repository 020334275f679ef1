package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Source is a consumer. Facts may block until ctx is done and must return an error then.
type Source interface {
	Facts(ctx context.Context) (Facts, error)
}

// SourceFunc is a function that implements [Source].
type SourceFunc func(ctx context.Context) (Facts, error)

// Facts calls f.
func (f SourceFunc) Facts(ctx context.Context) (Facts, error) { return f(ctx) }

// Server answers GET /livez, /readyz and /status with 200 or 503 and a [Verdict] as JSON. /status answers 403 to the
// host name of another machine: with DNS rebinding a web page could read it from the user's browser.
type Server struct {
	monitor *Monitor
	source  Source
	status  func() any
	host    string // the host part of the listen address
	http    *http.Server
	listen  net.Listener
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// Start listens on addr, like 127.0.0.1:8080, and observes source until Close. status returns the consumer part of
// /status; it may be nil.
func Start(addr string, monitor *Monitor, source Source, status func() any) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("health endpoint: %w (give it another address, or off)", err)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = "" // addr has only a port
	}
	return serve(l, host, monitor, source, status), nil
}

// serve starts a Server on l. host is the host part of the listen address.
func serve(l net.Listener, host string, monitor *Monitor, source Source, status func() any) *Server {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{monitor: monitor, source: source, status: status, host: host, listen: l, stop: stop}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.probe(func(v Verdict) bool { return v.Live }))
	mux.HandleFunc("GET /readyz", s.probe(func(v Verdict) bool { return v.Ready }))
	mux.HandleFunc("GET /status", s.serveStatus)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	s.work.Go(func() { s.watch(ctx) })
	s.work.Go(func() { _ = s.http.Serve(l) })
	return s
}

// Addr returns the listen address.
func (s *Server) Addr() string { return s.listen.Addr().String() }

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

// observe asks the consumer for its facts once.
func (s *Server) observe(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, s.monitor.o.Every)
	defer cancel()
	if f, err := s.source.Facts(short); err == nil {
		s.monitor.Observe(time.Now(), f)
	}
}

// probe returns the handler of /livez and /readyz.
func (s *Server) probe(ok func(Verdict) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		v := s.monitor.Verdict(time.Now())
		write(w, ok(v), v)
	}
}

// serveStatus handles /status.
func (s *Server) serveStatus(w http.ResponseWriter, r *http.Request) {
	if !s.isOwnHost(r) {
		http.Error(w, "the Host of this request is not the consumer's: ask 127.0.0.1, or the address that it listens on", http.StatusForbidden)
		return
	}
	v := s.monitor.Verdict(time.Now())
	out := struct {
		Verdict
		Consumer any `json:"consumer,omitempty"`
	}{Verdict: v}
	if s.status != nil {
		out.Consumer = s.status()
	}
	write(w, v.Live && v.Ready, out)
}

// isOwnHost reports whether the Host of a request names this machine. That is localhost, the address of the connection,
// or the host of --health.
func (s *Server) isOwnHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") || s.host != "" && strings.EqualFold(host, s.host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return true
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && addr.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

func write(w http.ResponseWriter, ok bool, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(v) // it fails only if the client is gone
}
