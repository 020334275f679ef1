package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tablewake/tablewake/test/kcl"
)

// application is an application of the KCL. A record has arrived when the application is called with the record.
type application struct {
	world   *world
	proxy   *kcl.RegionProxy
	started int

	mu   sync.Mutex
	seen map[write]chan struct{} // each channel is closed when its write has arrived
}

var _ reader = (*application)(nil)

func newApplication(w *world) *application {
	return &application{world: w, proxy: kcl.NewRegionProxy(w.endpoint), seen: make(map[write]chan struct{})}
}

func (a *application) close() { a.proxy.Close() }

// worker is a worker of the application.
type worker struct{ *kcl.Worker }

func (w worker) stop() error { return w.Stop() }

// start gives each worker its own name, like the tasks of a service.
func (a *application) start() (process, error) {
	a.started++
	w, err := kcl.Start(context.Background(), kcl.Options{
		Endpoint: a.proxy.Endpoint(), AccessKey: a.world.name, Streams: []string{kcl.KnownARN(a.world.stream)},
		Application: a.world.name + "-kcl", Worker: fmt.Sprintf("task-%d", a.started), Every: 100, Tell: a.tell,
	})
	return worker{w}, err
}

func (a *application) tell(e kcl.Event) {
	if e.Event != "record" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	done := a.arrival(write(e.Key))
	select {
	case <-done: // the record came again
	default:
		close(done)
	}
}

// arrival returns the channel of a write. The caller holds mu.
func (a *application) arrival(wr write) chan struct{} {
	if a.seen[wr] == nil {
		a.seen[wr] = make(chan struct{})
	}
	return a.seen[wr]
}

// arrived waits until the application was called with the record.
func (a *application) arrived(ctx context.Context, wr write) error {
	const limit = 5 * time.Minute // a start takes up to 130 s
	a.mu.Lock()
	done := a.arrival(wr)
	a.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
		return errors.New("the application has not read " + string(wr) + " in " + limit.String())
	}
}
