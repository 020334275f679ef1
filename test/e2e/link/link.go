// Package link has the network between a process of a test and the embedded stores. It can be slow, and it can be cut.
package link

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/state"
	statesqlite "github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	viewsqlite "github.com/tablewake/tablewake/sinks/view/sqlite"
)

// Link is the network between one process and its stores.
type Link struct {
	mu    sync.Mutex
	delay time.Duration // requests that are sent now arrive within this time
	held  time.Time     // no request that is sent now arrives before this time
	cut   bool          // no more requests are sent
	late  int           // number of requests that arrived after the link was cut
}

var errCut = errors.New("the process is dead")

// A link delays requests for severTime before it is cut. The delayed requests arrive up to maxLate later.
const (
	severTime = 100 * time.Millisecond
	maxLate   = 3 * time.Second
)

// Hold holds back requests that are sent from now on until a time.
func (l *Link) Hold(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = until
}

// Late returns how many requests arrived after the link was cut. It must be called after the process has ended.
func (l *Link) Late() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late
}

// Sever cuts the link. Requests that were sent shortly before arrive afterwards, among the requests of other processes.
func (l *Link) Sever() {
	l.mu.Lock()
	l.delay = maxLate
	l.mu.Unlock()
	time.Sleep(severTime)
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
}

// status returns how long a request takes to arrive, and whether the link is cut.
func (l *Link) status() (delay time.Duration, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.delay > 0 {
		delay = rand.N(l.delay)
	}
	return max(delay, time.Until(l.held)), l.cut
}

// send sends a request. The end of ctx does not stop the request. A dead process never gets the result. It still waits
// for the result, because the request uses the memory of the process.
func send[T any](ctx context.Context, l *Link, call func(ctx context.Context) (T, error)) (T, error) {
	var none T
	delay, cut := l.status()
	if cut {
		return none, pipeline.Transient(errCut)
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	l.mu.Lock()
	if l.cut {
		l.late++
	}
	l.mu.Unlock()
	v, err := call(context.WithoutCancel(ctx))
	if _, cut := l.status(); cut {
		return none, pipeline.Transient(errCut)
	}
	return v, err
}

// ask sends a request whose only result is an error.
func ask(ctx context.Context, l *Link, call func(ctx context.Context) error) error {
	_, err := send(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// Stores are the stores of one process.
type Stores struct {
	*local.Stores
	Link *Link
}

func (s *Stores) rows(store any, err error) (*linkedRows, error) {
	if err != nil {
		return nil, err
	}
	return &linkedRows{store.(*viewsqlite.Store), s.Link}, nil
}

// View opens the rows of a view.
func (s *Stores) View(ctx context.Context, cfg *config.Config, spec config.Sink) (view.Store, error) {
	return s.rows(s.Stores.View(ctx, cfg, spec))
}

// Aggregate opens the groups of an aggregate.
func (s *Stores) Aggregate(ctx context.Context, cfg *config.Config, spec config.Sink) (view.GroupStore, error) {
	return s.rows(s.Stores.Aggregate(ctx, cfg, spec))
}

// Search opens the documents of a search sink.
func (s *Stores) Search(ctx context.Context, cfg *config.Config, spec config.Sink) (search.Store, error) {
	store, err := s.Stores.Search(ctx, cfg, spec)
	if err != nil {
		return nil, err
	}
	return &linkedDocuments{store.(*searchsqlite.Store), s.Link}, nil
}

// State opens the state of a pipeline.
func (s *Stores) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	store, err := s.Stores.State(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &linkedState{store.(*statesqlite.State), s.Link}, nil
}

// linkedRows has the rows of views and aggregates.
type linkedRows struct {
	*viewsqlite.Store
	link *Link
}

func (s *linkedRows) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.Result, error) { return s.Store.Apply(ctx, t, ms) })
}

func (s *linkedRows) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]state.Guard, error) { return s.Store.Guards(ctx, t, items) })
}

func (s *linkedRows) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.RowClaims, error) { return s.Store.RowClaims(ctx, t, rows) })
}

func (s *linkedRows) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.Result, error) { return s.Store.WriteItems(ctx, t, ws) })
}

func (s *linkedRows) Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]state.Contribution, error) { return s.Store.Contributions(ctx, t, items) })
}

func (s *linkedRows) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.Result, error) { return s.Store.Contribute(ctx, t, ws) })
}

// linkedDocuments has the documents of an index.
type linkedDocuments struct {
	*searchsqlite.Store
	link *Link
}

func (s *linkedDocuments) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]search.Result, error) { return s.Store.Apply(ctx, ms) })
}

// linkedState has the state of a pipeline.
type linkedState struct {
	*statesqlite.State
	link *Link
}

func (s *linkedState) SetPart(ctx context.Context, expected, next state.Part) (bool, error) {
	return send(ctx, s.link, func(ctx context.Context) (bool, error) { return s.State.SetPart(ctx, expected, next) })
}

func (s *linkedState) SetBirth(ctx context.Context, expected, next state.Birth) (bool, error) {
	return send(ctx, s.link, func(ctx context.Context) (bool, error) { return s.State.SetBirth(ctx, expected, next) })
}

func (s *linkedState) MarkKeys(ctx context.Context, sink string, keys []item.Key) error {
	return ask(ctx, s.link, func(ctx context.Context) error { return s.State.MarkKeys(ctx, sink, keys) })
}

// Leases is the lease table of a fleet.
type Leases struct {
	*leases.Memory
	Link *Link
}

// Create creates a lease.
func (t *Leases) Create(ctx context.Context, l leases.Lease) error {
	return ask(ctx, t.Link, func(ctx context.Context) error { return t.Memory.Create(ctx, l) })
}

// Swap replaces a lease.
func (t *Leases) Swap(ctx context.Context, old, next leases.Lease) error {
	return ask(ctx, t.Link, func(ctx context.Context) error { return t.Memory.Swap(ctx, old, next) })
}

// Delete deletes a lease.
func (t *Leases) Delete(ctx context.Context, old leases.Lease) error {
	return ask(ctx, t.Link, func(ctx context.Context) error { return t.Memory.Delete(ctx, old) })
}

// Heartbeat stores a heartbeat.
func (t *Leases) Heartbeat(ctx context.Context, m leases.Member) error {
	return ask(ctx, t.Link, func(ctx context.Context) error { return t.Memory.Heartbeat(ctx, m) })
}

// RemoveMember removes a consumer.
func (t *Leases) RemoveMember(ctx context.Context, worker string) error {
	return ask(ctx, t.Link, func(ctx context.Context) error { return t.Memory.RemoveMember(ctx, worker) })
}

// MarkBegun notes that a stream is read.
func (t *Leases) MarkBegun(ctx context.Context, stream string) error {
	return ask(ctx, t.Link, func(ctx context.Context) error { return t.Memory.MarkBegun(ctx, stream) })
}
