// Package faults puts a proxy between a sink and its real server, and has it do what
// networks do: delay, reset, fall silent, close late, trickle, cut answers off.
//
// A fault has a beginning and an end, and connections break at both, so that none outlives its fault. Each fault also
// ends by itself, so that no test hangs on it.
package faults

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

// Proxy is in front of one server. Its methods may be called from many goroutines.
type Proxy struct {
	listen, upstream string // HOST:PORT

	mu      sync.Mutex
	running *listener // nil: connections are refused
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

// start is called with the lock, or before anyone knows of the proxy. Faults come and go with the listener: all
// connections of one moment have the same fault.
func (p *Proxy) start(f *Fault) error {
	if f == nil {
		f = &Fault{}
	}
	if f.refuse {
		return nil
	}
	l, err := net.Listen("tcp", p.listen)
	for end := time.Now().Add(time.Second); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); l, err = net.Listen("tcp", p.listen) {
		time.Sleep(time.Millisecond) // a check whether the port is free
	}
	if err != nil {
		return err
	}
	p.running = listen(l, p.upstream, *f)
	return nil
}

// stop is called with the lock.
func (p *Proxy) stop() {
	if p.ends != nil {
		p.ends.Stop()
		p.ends = nil
	}
	if p.running != nil {
		p.running.stop()
		p.running = nil
	}
}

func (p *Proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.stop()
}
