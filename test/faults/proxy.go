// Package faults puts a proxy between a sink and its real server, and has it do what
// networks do: delay, reset, fall silent, close late, trickle, cut answers off.
//
// A fault has a beginning and an end, at both of which connections break, so that none
// outlives its fault; each fault also ends by itself, so that no test hangs on it.
package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/test/server"
)

// Proxy stands before one server. Its methods may be called from many goroutines.
type Proxy struct {
	listen, upstream string // HOST:PORT

	mu      sync.Mutex
	running *toxiproxy.Proxy // nil: connections are refused
	ends    *time.Timer
	closed  bool
}

// TB is what is used of a test.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Before is a proxy before the server of that URL, without a fault; it ends with the test.
func Before(t TB, endpoint string) *Proxy {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	port, err := server.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listen: "127.0.0.1:" + port, upstream: u.Host}
	if err := p.start(nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// Leaks are the goroutines that the proxy's library leaves behind a connection that broke
// while it was written to: for a test's TestMain, to look for others.
func Leaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
	}
}

// Endpoint is the URL to give to a sink in the server's place.
func (p *Proxy) Endpoint() string { return "http://" + p.listen }

// Begin breaks the connections that there are and has all that follow suffer the fault
// until End, and no longer than the limit.
func (p *Proxy) Begin(f Fault, limit time.Duration) error {
	return p.change(&f, limit)
}

// End breaks the connections that there are; those that follow are sound.
func (p *Proxy) End() error { return p.change(nil, 0) }

func (p *Proxy) change(f *Fault, limit time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	if p.closed {
		return nil
	}
	if f != nil {
		p.ends = time.AfterFunc(limit, func() { _ = p.End() })
	}
	return p.start(f)
}

// start is called with the lock, or before anyone knows of the proxy. Faults come and go
// with the whole proxy: connections of one moment then all are of one kind, and what
// must be set when a connection opens, as a reset must, is.
func (p *Proxy) start(f *Fault) error {
	if f != nil && f.refuse {
		return nil
	}
	silent := zerolog.Nop()
	s := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), silent)
	running := toxiproxy.NewProxy(s, "", p.listen, p.upstream)
	if f != nil {
		spec, err := json.Marshal(map[string]any{"type": f.toxic, "stream": f.stream, "attributes": f.attributes})
		if err != nil {
			return err
		}
		if _, err := running.Toxics.AddToxicJson(bytes.NewReader(spec)); err != nil {
			return err
		}
	}
	err := running.Start()
	for end := time.Now().Add(time.Second); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); err = running.Start() {
		time.Sleep(time.Millisecond) // somebody looks whether the port is free
	}
	if err != nil {
		return err
	}
	p.running = running
	return nil
}

// stop is called with the lock.
func (p *Proxy) stop() {
	if p.ends != nil {
		p.ends.Stop()
		p.ends = nil
	}
	if p.running != nil {
		p.running.Stop()
		p.running = nil
	}
}

func (p *Proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.stop()
}
