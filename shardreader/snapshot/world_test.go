package snapshot_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/state"
)

// table is a snapshot in memory: sizes has the number of items of each part.
type table struct {
	sizes   map[string]int
	page    int                     // items of a page
	failAt  map[string]int          // the part fails before this item
	failure error                   // with which it fails; errBroken by default
	latency func(id string)         // of a read
	opened  func(id string, at int) // may be nil
}

func (t *table) Info() snapshot.Info {
	info := snapshot.Info{Source: "table", Bytes: -1, View: record.NewAndOldImages}
	for _, n := range t.sizes {
		info.Items += int64(n)
	}
	return info
}

func (t *table) Parts() []snapshot.Part {
	var parts []snapshot.Part
	for _, id := range slices.Sorted(maps.Keys(t.sizes)) {
		parts = append(parts, snapshot.Part{ID: id, Items: int64(t.sizes[id]), Bytes: -1})
	}
	return parts
}

var errBroken = errors.New("the file is broken: copy it again")

func (t *table) Open(_ context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	at := 0
	if from != "" {
		var err error
		if at, err = strconv.Atoi(string(from)); err != nil {
			return nil, err
		}
	}
	if t.opened != nil {
		t.opened(id, at)
	}
	return &tableReader{t, id, at}, nil
}

type tableReader struct {
	*table
	id string
	at int
}

func (r *tableReader) Read(ctx context.Context) (*pipeline.Page, error) {
	if r.latency != nil {
		r.latency(r.id)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	fail, fails := r.failAt[r.id]
	if fails && r.at >= fail {
		return nil, cmp.Or(r.failure, errBroken)
	}
	if r.at == r.sizes[r.id] {
		return nil, io.EOF
	}
	var b bytes.Buffer
	for n := 0; n < r.page && r.at < r.sizes[r.id]; n++ {
		fmt.Fprintf(&b, `{"Item":{"PK":{"S":"%s/%d"}}}`+"\n", r.id, r.at)
		r.at++
	}
	page := &pipeline.Page{Position: pipeline.Position(strconv.Itoa(r.at))}
	page.Bytes = b.Len()
	page.Decode = func() (*record.Page, error) { return decoder.DecodeLines(b.Bytes()), nil }
	return page, nil
}

func (r *tableReader) Close() error { return nil }

var decoder = record.NewSnapshotDecoder(record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}})

// partStore keeps parts in memory. It checks that nothing unwritten is passed.
type partStore struct {
	mu      sync.Mutex
	parts   map[string]state.Part // by partKey
	written *written
	wrong   []string
	lists   int
}

// partKey is the ID of a part of the run "run". The key of another run's part names the run.
func partKey(p state.Part) string {
	if p.Run == "run" {
		return p.ID
	}
	return p.Run + "/" + p.ID
}

func (s *partStore) Parts(_ context.Context, run string) iter.Seq2[state.Part, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	var parts []state.Part
	for _, id := range slices.Sorted(maps.Keys(s.parts)) {
		if s.parts[id].Run == run {
			parts = append(parts, s.parts[id])
		}
	}
	return func(yield func(state.Part, error) bool) {
		for _, p := range parts {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func (s *partStore) SetPart(ctx context.Context, expected, next state.Part) (bool, error) {
	if err := state.CheckSetPart(expected, next); err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil {
		s.parts = make(map[string]state.Part)
	}
	if s.parts[partKey(next)] != expected {
		return false, nil
	}
	if s.written != nil {
		for i := range int(next.Items) {
			if key := next.ID + "/" + strconv.Itoa(i); !s.written.has(key) {
				s.wrong = append(s.wrong, fmt.Sprintf("%+v: %s is not written", next, key))
				break
			}
		}
	}
	if next.Items > 0 && next.Position != strconv.FormatInt(next.Items, 10) {
		s.wrong = append(s.wrong, fmt.Sprintf("%+v: items differ from the position", next))
	}
	s.parts[partKey(next)] = next
	return true, nil
}

// written is what sinks have.
type written struct {
	mu   sync.Mutex
	keys map[string]int
}

func (w *written) add(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = make(map[string]int)
	}
	w.keys[key]++
}

func (w *written) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[key] > 0
}

// missing returns the items of a table that no sink has.
func (w *written) missing(t *table) (keys []string) {
	for id, n := range t.sizes {
		for i := range n {
			if key := id + "/" + strconv.Itoa(i); !w.has(key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// sink writes to w.
func (w *written) sink() pipeline.SinkFunc {
	return func(_ context.Context, ds []pipeline.Delivery) error {
		for _, d := range ds {
			v, _ := d.Change.New.Get("PK")
			w.add(string(v.Raw()))
		}
		return nil
	}
}

// both writes to a and b.
func both(a, b *written) pipeline.SinkFunc {
	return func(ctx context.Context, ds []pipeline.Delivery) error {
		return errors.Join(a.sink()(ctx, ds), b.sink()(ctx, ds))
	}
}

func newSource(t testing.TB, o snapshot.SourceOptions) *snapshot.Source {
	t.Helper()
	o.Run = "run"
	s, err := snapshot.NewSource(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newPipeline(t testing.TB, sink pipeline.Sink, batch pipeline.Batch) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(pipeline.Options{Name: "test", Routes: []pipeline.Route{{Name: "sink", Sink: sink, Batch: batch}}, StopTimeout: time.Second, MaxChanges: 50})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs a source to its end, and closes it.
func run(ctx context.Context, t testing.TB, src *snapshot.Source, sink pipeline.Sink, batch pipeline.Batch) error {
	t.Helper()
	err := newPipeline(t, sink, batch).Run(ctx, src, src)
	if closed := src.Close(context.WithoutCancel(ctx)); closed != nil {
		t.Error(closed)
	}
	return err
}

// faults is the store as a process sees it over a network that fails.
type faults struct {
	*partStore
	mu   sync.Mutex
	r    *rand.Rand
	rate float64 // of calls that fail
	slow time.Duration
	dead bool
}

var errNetwork = pipeline.Transient(errors.New("network"))

func (f *faults) SetPart(ctx context.Context, expected, next state.Part) (bool, error) {
	f.mu.Lock()
	fails, applied, dead := f.r.Float64() < f.rate, f.r.IntN(2) == 0, f.dead
	wait := time.Duration(0)
	if f.slow > 0 && f.r.IntN(10) == 0 {
		wait = time.Duration(f.r.Int64N(int64(f.slow)))
	}
	f.mu.Unlock()
	if dead {
		return false, errors.New("killed")
	}
	if err := pipeline.Sleep(ctx, wait); err != nil {
		return false, pipeline.Transient(err)
	}
	if fails && !applied {
		return false, errNetwork
	}
	ok, err := f.partStore.SetPart(ctx, expected, next)
	if fails {
		return false, errNetwork
	}
	return ok, err
}

func (f *faults) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

func (f *faults) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}
