package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// admin serves the API under /admin.
type admin struct {
	server *streamtest.Server
	table  *streamtest.Table
	writes writes

	ctx       context.Context
	mu        sync.Mutex // mu guards all fields below
	halt      context.CancelFunc
	halted    context.Context // done when background work has to end
	running   int
	jobs      sync.WaitGroup
	reshaping sync.Mutex // held while the stream is reshaped, so that this happens one at a time
}

func newAdmin(ctx context.Context, server *streamtest.Server, table string, shards int) *admin {
	a := &admin{ctx: ctx, server: server, table: server.Table(table)}
	a.halted, a.halt = context.WithCancel(ctx)
	server.Enable(table, streamtest.StreamOptions{Shards: shards})
	return a
}

func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", a.server)
	post(mux, "/admin/write", a.write)
	post(mux, "/admin/put", a.put)
	post(mux, "/admin/delete", a.remove)
	post(mux, "/admin/split", a.split)
	post(mux, "/admin/trim", a.trim)
	post(mux, "/admin/disable", a.disable)
	post(mux, "/admin/enable", a.enable)
	post(mux, "/admin/fail", a.fail)
	post(mux, "/admin/chaos", a.chaos)
	post(mux, "/admin/stop", func(struct{}) (any, error) { a.stop(); return nil, nil })
	mux.HandleFunc("GET /admin/stats", get(a.stats))
	mux.HandleFunc("GET /admin/table", get(a.items))
	mux.HandleFunc("GET /admin/shards", get(a.shards))
	return mux
}

// post serves POST requests of type T to path with do.
func post[T any](mux *http.ServeMux, path string, do func(T) (any, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, req *http.Request) {
		var in T
		d := json.NewDecoder(req.Body)
		d.DisallowUnknownFields()
		err := d.Decode(&in)
		if errors.Is(err, io.EOF) { // an empty body means the defaults
			err = nil
		}
		var out any
		if err == nil {
			out, err = safely(func() (any, error) { return do(in) })
		}
		answer(w, out, err)
	})
}

func get(do func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		out, err := safely(func() (any, error) { return do(), nil })
		answer(w, out, err)
	}
}

// safely calls do. It turns a panic by which streamtest reports a wrong test into an error.
func safely(do func() (any, error)) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return do()
}

func answer(w http.ResponseWriter, out any, err error) {
	status := http.StatusOK
	if err != nil {
		status, out = http.StatusBadRequest, map[string]string{"error": err.Error()}
	}
	if out == nil {
		out = struct{}{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // an error means that the client is gone
}

// start starts background work that runs until it is done or stopped.
func (a *admin) start(job func(ctx context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx := a.halted
	a.running++
	a.jobs.Go(func() {
		_, err := safely(func() (any, error) { return nil, job(ctx) })
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "streamserver:", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running--
	})
}

// stop ends the background work.
func (a *admin) stop() {
	a.mu.Lock()
	a.halt()
	a.halted, a.halt = context.WithCancel(a.ctx)
	a.mu.Unlock()
	a.jobs.Wait()
}

// duration is a duration in the form of a text like 1m30s.
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}
