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

// Source is who is watched. Facts may block until ctx is done; then it says nothing.
type Source interface {
	Facts(ctx context.Context) (Facts, error)
}

// SourceFunc makes a function a Source.
type SourceFunc func(ctx context.Context) (Facts, error)

// Facts calls f.
func (f SourceFunc) Facts(ctx context.Context) (Facts, error) { return f(ctx) }

// Server answers GET /livez, /readyz and /status: 200 or 503, and a [Verdict] as JSON. /status answers
// 403 to a Host that is not this machine's: a web page could reach it under a name of its own.
type Server struct {
	judge  *Judge
	source Source
	status func() any
	host   string // that it was told to listen on
	http   *http.Server
	listen net.Listener
	stop   context.CancelFunc
	work   sync.WaitGroup
}

// Start listens on addr, as 127.0.0.1:8080, and watches source until Close. status
// is what /status shows beside the verdict; it may be nil.
func Start(addr string, judge *Judge, source Source, status func() any) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("health endpoint: %w (give it another address, or off)", err)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = "" // of an address that was listened on all the same
	}
	return serve(l, host, judge, source, status), nil
}

// serve is Start on a listener, of an address that names that host.
func serve(l net.Listener, host string, judge *Judge, source Source, status func() any) *Server {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{judge: judge, source: source, status: status, host: host, listen: l, stop: stop}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.answer(func(v Verdict) bool { return v.Live }))
	mux.HandleFunc("GET /readyz", s.answer(func(v Verdict) bool { return v.Ready }))
	mux.HandleFunc("GET /status", s.all)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	s.work.Go(func() { s.watch(ctx) })
	s.work.Go(func() { _ = s.http.Serve(l) })
	return s
}

// Addr is where it listens.
func (s *Server) Addr() string { return s.listen.Addr().String() }

// Close stops it, and waits for what it started.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	s.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// watch observes the consumer, whoever asks.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(s.judge.o.Every)
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

// observe asks the consumer. One that does not answer is not observed: it may be dead.
func (s *Server) observe(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, s.judge.o.Every)
	defer cancel()
	if f, err := s.source.Facts(short); err == nil {
		s.judge.Observe(time.Now(), f)
	}
}

func (s *Server) answer(ok func(Verdict) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		v := s.judge.Verdict(time.Now())
		write(w, ok(v), v)
	}
}

func (s *Server) all(w http.ResponseWriter, r *http.Request) {
	if !s.own(r) {
		http.Error(w, "the Host of this request is not the consumer's: ask 127.0.0.1, or the address that it listens on", http.StatusForbidden)
		return
	}
	v := s.judge.Verdict(time.Now())
	out := struct {
		Verdict
		Consumer any `json:"consumer,omitempty"`
	}{Verdict: v}
	if s.status != nil {
		out.Consumer = s.status()
	}
	write(w, v.Live && v.Ready, out)
}

// own reports whether a request names this machine: as localhost, by the address that it reached, or as
// --health does.
func (s *Server) own(r *http.Request) bool {
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
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && at.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

func write(w http.ResponseWriter, ok bool, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(v) // who asked is gone
}
