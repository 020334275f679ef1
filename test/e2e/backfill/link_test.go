package backfill

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

// link is the network between one process and its stores.
type link struct {
	mu    sync.Mutex
	delay time.Duration // requests that are sent now arrive within this time
	cut   bool          // no request is sent any more
	late  int           // requests that arrived after the link was cut
}

var errCut = errors.New("the process is dead")

// severTime is how long a link delays requests before it is cut, and maxLate how late they arrive.
const (
	severTime = 100 * time.Millisecond
	maxLate   = 3 * time.Second
)

// sever cuts the link. Requests that were sent shortly before arrive after that, among those of the successors.
func (l *link) sever() {
	l.mu.Lock()
	l.delay = maxLate
	l.mu.Unlock()
	time.Sleep(severTime)
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
}

// status returns how long a request takes to arrive, and whether the link is cut.
func (l *link) status() (delay time.Duration, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay, l.cut
}

// send sends a request. The end of ctx does not stop it. A dead process never learns its result, and waits for it all the
// same, because the request uses the memory of the process.
func send[T any](ctx context.Context, l *link, call func(ctx context.Context) (T, error)) (T, error) {
	var none T
	delay, cut := l.status()
	if cut {
		return none, pipeline.Transient(errCut)
	}
	if delay > 0 {
		time.Sleep(rand.N(delay))
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

// ask is send for requests with an error alone.
func ask(ctx context.Context, l *link, call func(ctx context.Context) error) error {
	_, err := send(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// linkedStores are the stores of one process.
type linkedStores struct {
	*local.Stores
	link *link
}

func (s *linkedStores) rows(store any, err error) (*linkedRows, error) {
	if err != nil {
		return nil, err
	}
	return &linkedRows{store.(*viewsqlite.Store), s.link}, nil
}

func (s *linkedStores) View(ctx context.Context, cfg *config.Config, spec config.Sink) (view.Store, error) {
	return s.rows(s.Stores.View(ctx, cfg, spec))
}

func (s *linkedStores) Aggregate(ctx context.Context, cfg *config.Config, spec config.Sink) (view.GroupStore, error) {
	return s.rows(s.Stores.Aggregate(ctx, cfg, spec))
}

func (s *linkedStores) Search(ctx context.Context, cfg *config.Config, spec config.Sink) (search.Store, error) {
	store, err := s.Stores.Search(ctx, cfg, spec)
	if err != nil {
		return nil, err
	}
	return &linkedDocuments{store.(*searchsqlite.Store), s.link}, nil
}

func (s *linkedStores) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	store, err := s.Stores.State(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &linkedState{store.(*statesqlite.State), s.link}, nil
}

// linkedRows are the rows of views and aggregates.
type linkedRows struct {
	*viewsqlite.Store
	link *link
}

func (s *linkedRows) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.Result, error) { return s.Store.Apply(ctx, t, ms) })
}

func (s *linkedRows) Guards(ctx context.Context, t view.Target, items []item.Key) ([]state.Guard, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]state.Guard, error) { return s.Store.Guards(ctx, t, items) })
}

func (s *linkedRows) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.RowClaims, error) { return s.Store.RowClaims(ctx, t, rows) })
}

func (s *linkedRows) Settle(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.Result, error) { return s.Store.Settle(ctx, t, ws) })
}

func (s *linkedRows) Contributions(ctx context.Context, t view.Target, items []item.Key) ([]state.Contribution, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]state.Contribution, error) { return s.Store.Contributions(ctx, t, items) })
}

func (s *linkedRows) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]view.Result, error) { return s.Store.Contribute(ctx, t, ws) })
}

// linkedDocuments are the documents of an index.
type linkedDocuments struct {
	*searchsqlite.Store
	link *link
}

func (s *linkedDocuments) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	return send(ctx, s.link, func(ctx context.Context) ([]search.Result, error) { return s.Store.Apply(ctx, ms) })
}

// linkedState is the state of a pipeline.
type linkedState struct {
	*statesqlite.State
	link *link
}

func (s *linkedState) SetPart(ctx context.Context, was, now state.Part) (bool, error) {
	return send(ctx, s.link, func(ctx context.Context) (bool, error) { return s.State.SetPart(ctx, was, now) })
}

func (s *linkedState) SetBirth(ctx context.Context, was, now state.Birth) (bool, error) {
	return send(ctx, s.link, func(ctx context.Context) (bool, error) { return s.State.SetBirth(ctx, was, now) })
}

func (s *linkedState) Hold(ctx context.Context, sink string, keys []item.Key) error {
	return ask(ctx, s.link, func(ctx context.Context) error { return s.State.Hold(ctx, sink, keys) })
}

// linkedLeases is the lease table of a fleet.
type linkedLeases struct {
	*leases.Memory
	link *link
}

func (t *linkedLeases) Create(ctx context.Context, l leases.Lease) error {
	return ask(ctx, t.link, func(ctx context.Context) error { return t.Memory.Create(ctx, l) })
}

func (t *linkedLeases) Swap(ctx context.Context, old, next leases.Lease) error {
	return ask(ctx, t.link, func(ctx context.Context) error { return t.Memory.Swap(ctx, old, next) })
}

func (t *linkedLeases) Delete(ctx context.Context, old leases.Lease) error {
	return ask(ctx, t.link, func(ctx context.Context) error { return t.Memory.Delete(ctx, old) })
}

func (t *linkedLeases) Heartbeat(ctx context.Context, m leases.Member) error {
	return ask(ctx, t.link, func(ctx context.Context) error { return t.Memory.Heartbeat(ctx, m) })
}

func (t *linkedLeases) Leave(ctx context.Context, worker string) error {
	return ask(ctx, t.link, func(ctx context.Context) error { return t.Memory.Leave(ctx, worker) })
}

func (t *linkedLeases) Begin(ctx context.Context, stream string) error {
	return ask(ctx, t.link, func(ctx context.Context) error { return t.Memory.Begin(ctx, stream) })
}
