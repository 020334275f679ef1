package sinktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/redrive"
	"github.com/tablewake/tablewake/sinks/state"
)

// Memory is an open store of the dead letters and the marks of a pipeline. A mark is the note that a key is
// quarantined.
type Memory struct {
	Letters    deadletter.Store
	Quarantine state.Quarantine
	Close      func() error // closes the store, as when the process ends normally. Default: nothing to close
	Kill       func() error // closes the store, as when the process dies. Default: Close
}

// RunQuarantine checks dead letters and marks. A pipeline and redrives run on a sink that has no versions and refuses
// changes at random. The process dies between any two steps and starts again. In the end the sink must have every
// change, and no dead letter and no mark may be left. The first deliveries of an item's changes must have been in
// order.
//
// open opens the memory in dir. dir is empty or was left by an earlier process. checks is the number of random streams;
// 0 means rapid's default.
func RunQuarantine(t *testing.T, checks int, open func(dir string) (Memory, error)) {
	t.Helper()
	checkInFolder(t, checks, func(rt *rapid.T, dir string) {
		h := &holding{rt: rt, ctx: t.Context(), dir: dir, open: open,
			stream: Streams(StreamOptions{Records: 20}).Draw(rt, "stream")}
		h.sink.refusals = rapid.SliceOfN(rapid.IntRange(0, 2), len(h.stream.Changes), len(h.stream.Changes)).Draw(rt,
			"refusals")
		h.sink.keepsOrder = rapid.Bool().Draw(rt, "keeps order")
		for range rapid.IntRange(0, 4).Draw(rt, "deaths") {
			death := Fault{Call: rapid.IntRange(1, 3*len(h.stream.Changes)).Draw(rt, "step") - 1, Kind: Crash}
			if rapid.Bool().Draw(rt, "after it") {
				death.After = 1
			}
			h.runProcess(death)
			h.at = rapid.IntRange(0, h.at).Draw(rt, "checkpoint")
		}
		h.runProcess()
		h.end()
	})
}

// holding is one check of RunQuarantine. It has everything that survives the death of a process.
type holding struct {
	rt     *rapid.T
	ctx    context.Context
	dir    string
	open   func(dir string) (Memory, error)
	stream *Stream
	sink   refusing
	at     int // number of committed changes
}

// runProcess runs one process: the pipeline, and a redrive after it. At random, it also redrives before the pipeline
// and beside it. death has the fault with which the process dies; without death it ends normally.
func (h *holding) runProcess(death ...Fault) {
	m, err := h.open(h.dir)
	if err != nil {
		h.rt.Fatalf("open: %v", err)
	}
	d := &dying{m, NewFaults(death...)}
	h.sink.d = d
	p := h.pipeline(d)
	if rapid.Bool().Draw(h.rt, "redrive before") {
		h.must(h.redrive(p, d))
	}
	beside := func() error { return nil }
	if rapid.Bool().Draw(h.rt, "redrive beside") {
		beside = h.redriveBeside(p, d)
	}
	err = p.Run(h.ctx, h.source(), pipeline.CommitterFunc(func(_ context.Context, _ string, pos pipeline.Position) error {
		return d.do(func() (err error) {
			h.at, err = strconv.Atoi(string(pos))
			return err
		})
	}))
	besideErr := beside()
	h.must(err)
	h.must(besideErr)
	if err := p.Ledger().Check(); err != nil {
		h.rt.Fatal(err)
	}
	h.must(h.redrive(p, d))
	closeStore := m.Close
	if d.faults.crashed() && m.Kill != nil {
		closeStore = m.Kill
	}
	closeWith(h.rt, closeStore)
}

func (h *holding) pipeline(d *dying) *pipeline.Pipeline {
	p, err := pipeline.New(pipeline.Options{
		Name: "test", DeadLetters: d, Quarantine: d, StopTimeout: time.Minute,
		Backoff: pipeline.Backoff{Base: time.Microsecond, Max: time.Microsecond},
		Routes: []pipeline.Route{{
			Name: "unguarded", Sink: &h.sink,
			Concurrency: rapid.IntRange(1, 3).Draw(h.rt, "concurrency"),
			Batch:       pipeline.Batch{Count: rapid.IntRange(1, 5).Draw(h.rt, "batch")},
		}},
	})
	if err != nil {
		h.rt.Fatal(err)
	}
	return p
}

// redriveBeside redrives again and again until it fails or stop is called.
func (h *holding) redriveBeside(p *pipeline.Pipeline, d *dying) (stop func() error) {
	ended := make(chan struct{})
	var beside sync.WaitGroup
	var err error
	beside.Go(func() {
		for err == nil {
			err = h.redrive(p, d)
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	return func() error {
		close(ended)
		beside.Wait()
		return err
	}
}

func (h *holding) redrive(p *pipeline.Pipeline, d *dying) error {
	_, err := redrive.Run(h.ctx, redrive.Options{
		Pipeline: p, Letters: d, Quarantine: d, Backoff: pipeline.Backoff{Base: time.Microsecond, Max: time.Microsecond},
	})
	return err
}

func (h *holding) must(err error) {
	h.rt.Helper()
	if err != nil && !errors.Is(err, ErrCrash) {
		h.rt.Fatal(err)
	}
}

// source reads the changes that are not committed, in small pages.
func (h *holding) source() pipeline.Source {
	committed := h.at
	return pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		left := h.stream.Changes[committed:]
		if len(left) == 0 {
			return nil, io.EOF
		}
		p := &pipeline.Page{Partition: "0"}
		for _, c := range left[:min(3, len(left))] {
			p.Changes = append(p.Changes, *c)
		}
		committed += len(p.Changes)
		p.Position = pipeline.Position(strconv.Itoa(committed))
		return p, nil
	})
}

// end runs a last process in which the sink accepts everything, and checks the result.
func (h *holding) end() {
	clear(h.sink.refusals)
	h.runProcess()
	place := make(map[string]int)
	for i, c := range h.stream.Changes {
		place[nameOf(c)] = i
	}
	seen, last := make(map[string]bool), make(map[item.Key]int)
	for _, c := range h.sink.got {
		name := nameOf(c)
		if seen[name] {
			continue // a repeated delivery
		}
		seen[name] = true
		if n, later := last[c.Key]; later && place[name] < n {
			h.rt.Fatalf("%s came first after a later change of its item; the sink got:\n%s", name, h.sink.list())
		}
		last[c.Key] = place[name]
	}
	if len(seen) != len(place) {
		h.rt.Fatalf("the sink got %d of %d changes:\n%s", len(seen), len(place), h.sink.list())
	}
	m, err := h.open(h.dir)
	if err != nil {
		h.rt.Fatalf("open: %v", err)
	}
	for l, err := range m.Letters.Read(h.ctx) {
		h.rt.Fatalf("a letter is left: %s of %s (%v)", l.Class, l.Sequence, err)
	}
	for mark, err := range m.Quarantine.Marks(h.ctx, "") {
		h.rt.Fatalf("a mark is left: %s (%v)", mark.Key, err)
	}
	closeWith(h.rt, m.Close)
}

func nameOf(c *record.Change) string { return fmt.Sprintf("%s at %s", c.Key, c.Version) }

// refusing is a sink without versions. It refuses each change a drawn number of times. It stands for an external
// system, so it survives the death of a process.
type refusing struct {
	keepsOrder bool

	mu sync.Mutex
	d  *dying
	// refusals has the remaining refusals of each change. The changes are numbered in the order in which the sink first
	// saw them
	refusals []int
	number   map[string]int
	got      []*record.Change
}

var _ pipeline.KeyOrderer = (*refusing)(nil)

// KeepsKeyOrder returns the drawn value. If it is true, one batch may have several changes of a key. If the sink
// refuses one of them, the later ones fail, too.
func (s *refusing) KeepsKeyOrder() bool { return s.keepsOrder }

func (s *refusing) Write(_ context.Context, ds []pipeline.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed pipeline.BatchError
	err := s.d.do(func() error {
		behind := make(map[item.Key]bool)
		for i := range ds {
			c := ds[i].Change
			switch {
			case behind[c.Key]:
				failed.Add(i, errTransient)
			case s.refuses(c):
				behind[c.Key] = true
				failed.Add(i, errPermanent)
			default:
				s.got = append(s.got, c.Clone())
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return failed.OrNil()
}

func (s *refusing) refuses(c *record.Change) bool {
	if s.number == nil {
		s.number = make(map[string]int)
	}
	n, seen := s.number[nameOf(c)]
	if !seen {
		n = len(s.number)
		s.number[nameOf(c)] = n
	}
	if n >= len(s.refusals) || s.refusals[n] == 0 {
		return false
	}
	s.refusals[n]--
	return true
}

func (s *refusing) list() string {
	var b strings.Builder
	for _, c := range s.got {
		fmt.Fprintln(&b, " ", nameOf(c))
	}
	return b.String()
}

// dying is the Memory of one process. All its calls fail once the process has died.
type dying struct {
	Memory
	faults *Faults
}

var (
	_ deadletter.Store = (*dying)(nil)
	_ state.Quarantine = (*dying)(nil)
)

// do runs one step of the process, unless the process has died. The process may die before or after the step.
func (d *dying) do(step func() error) error {
	return d.faults.Call(1, func(int) error { return step() })
}

func (d *dying) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	return d.do(func() error { return d.Letters.Put(ctx, letters) })
}

func (d *dying) Remove(ctx context.Context, ids []string) error {
	return d.do(func() error { return d.Letters.Remove(ctx, ids) })
}

func (d *dying) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	if d.faults.crashed() {
		return func(yield func(pipeline.DeadLetter, error) bool) { yield(pipeline.DeadLetter{}, ErrCrash) }
	}
	return d.Letters.Read(ctx)
}

func (d *dying) MarkKeys(ctx context.Context, sink string, keys []item.Key) error {
	return d.do(func() error { return d.Quarantine.MarkKeys(ctx, sink, keys) })
}

func (d *dying) HasMarks(ctx context.Context, sink string, keys []item.Key) (held []bool, err error) {
	err = d.do(func() error {
		held, err = d.Quarantine.HasMarks(ctx, sink, slices.Clone(keys))
		return err
	})
	return held, err
}

func (d *dying) Clear(ctx context.Context, m state.Mark) (gone bool, err error) {
	err = d.do(func() error {
		gone, err = d.Quarantine.Clear(ctx, m)
		return err
	})
	return gone, err
}

func (d *dying) Marks(ctx context.Context, sink string) iter.Seq2[state.Mark, error] {
	if d.faults.crashed() {
		return func(yield func(state.Mark, error) bool) { yield(state.Mark{}, ErrCrash) }
	}
	return d.Quarantine.Marks(ctx, sink)
}
