// Package faults puts a proxy between a sink and its real server. The proxy has the faults of networks: delays,
// resets, silence, late closing, slow transfer, and cut answers.
//
// A fault has a beginning and an end. Connections break at both, so no connection keeps a fault after its end. Each
// fault also ends by itself, so that no test hangs on it.
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

// Proxy is a reverse proxy of one server. Its methods are safe for concurrent use.
type Proxy struct {
	listen, upstream string // HOST:PORT

	mu      sync.Mutex
	running *listener // nil: connections are refused
	ends    *time.Timer
	closed  bool
}

// TB is the part of testing.TB that the package uses.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Before starts a proxy without a fault in front of the server at endpoint. The proxy stops at the end of the test.
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

// Endpoint returns the URL of the proxy, which replaces the URL of the server in a sink.
func (p *Proxy) Endpoint() string { return "http://" + p.listen }

// Begin breaks the open connections. All later connections have the fault until End is called, or until the limit has
// passed.
func (p *Proxy) Begin(f Fault, limit time.Duration) error {
	return p.change(&f, limit)
}

// End breaks the open connections. Later connections have no fault.
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

// start starts a listener. The caller holds the lock, or no one else knows the proxy yet. A fault belongs to a
// listener, so all connections of one moment have the same fault.
func (p *Proxy) start(f *Fault) error {
	if f == nil {
		f = &Fault{}
	}
	if f.refuse {
		return nil
	}
	l, err := listenOn(p.listen)
	if err != nil {
		return err
	}
	p.running = listen(l, p.upstream, *f)
	return nil
}

// listenOn listens on an address. While a check whether the port is free uses the address, it tries again for a second.
func listenOn(address string) (net.Listener, error) {
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		l, err := net.Listen("tcp", address)
		isInUse := errors.Is(err, syscall.EADDRINUSE)
		if !isInUse || time.Now().After(end) {
			return l, err
		}
	}
}

// stop stops the listener. The caller holds the lock.
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
