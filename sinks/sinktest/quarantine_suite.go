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
	"sync/atomic"
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
		q := &quarantineCheck{rt: rt, ctx: t.Context(), dir: dir, open: open,
			stream: Streams(StreamOptions{Records: 20}).Draw(rt, "stream")}
		q.sink.refusals = rapid.SliceOfN(rapid.IntRange(0, 2), len(q.stream.Changes), len(q.stream.Changes)).Draw(rt,
			"refusals")
		q.sink.keepsOrder = rapid.Bool().Draw(rt, "keeps order")
		for range rapid.IntRange(0, 4).Draw(rt, "deaths") {
			death := Fault{Call: rapid.IntRange(1, 3*len(q.stream.Changes)).Draw(rt, "step") - 1, Kind: Crash}
			if rapid.Bool().Draw(rt, "after it") {
				death.After = 1
			}
			q.runProcess(death)
			q.committed = rapid.IntRange(0, q.committed).Draw(rt, "checkpoint")
		}
		q.runProcess()
		q.finish()
	})
}

// quarantineCheck is one check of RunQuarantine. It has everything that survives the death of a process.
type quarantineCheck struct {
	rt        *rapid.T
	ctx       context.Context
	dir       string
	open      func(dir string) (Memory, error)
	stream    *Stream
	sink      refusingSink
	committed int // number of committed changes
}

// runProcess runs one process: the pipeline, and a redrive after it. At random, it also redrives before the pipeline
// and beside it. death has the fault with which the process dies; without death it ends normally.
func (q *quarantineCheck) runProcess(death ...Fault) {
	m, err := q.open(q.dir)
	if err != nil {
		q.rt.Fatalf("open: %v", err)
	}
	memory := &mortalMemory{m, NewFaults(death...)}
	q.sink.memory = memory
	p := q.newPipeline(memory)
	if rapid.Bool().Draw(q.rt, "redrive before") {
		q.requireNoError(q.redrive(p, memory))
	}
	stopRedrives := func() error { return nil }
	if rapid.Bool().Draw(q.rt, "redrive beside") {
		stopRedrives = q.startRedrives(p, memory)
	}
	err = p.Run(q.ctx, q.openSource(), q.committer(memory))
	redriveErr := stopRedrives()
	q.requireNoError(err)
	q.requireNoError(redriveErr)
	if err := p.Ledger().Check(); err != nil {
		q.rt.Fatal(err)
	}
	q.requireNoError(q.redrive(p, memory))
	closeStore := m.Close
	if memory.faults.crashed() && m.Kill != nil {
		closeStore = m.Kill
	}
	closeWith(q.rt, closeStore)
}

// newPipeline returns the pipeline of one process.
func (q *quarantineCheck) newPipeline(m *mortalMemory) *pipeline.Pipeline {
	p, err := pipeline.New(pipeline.Options{
		Name: "test", DeadLetters: m, Quarantine: m, StopTimeout: time.Minute,
		Backoff: pipeline.Backoff{Base: time.Microsecond, Max: time.Microsecond},
		Routes: []pipeline.Route{{
			Name: "unguarded", Sink: &q.sink,
			Concurrency: rapid.IntRange(1, 3).Draw(q.rt, "concurrency"),
			Batch:       pipeline.Batch{Count: rapid.IntRange(1, 5).Draw(q.rt, "batch")},
		}},
	})
	if err != nil {
		q.rt.Fatal(err)
	}
	return p
}

// committer returns the committer of one process. It notes the number of committed changes, which is their position.
func (q *quarantineCheck) committer(m *mortalMemory) pipeline.Committer {
	return pipeline.CommitterFunc(func(_ context.Context, _ string, position pipeline.Position) error {
		return m.runStep(func() (err error) {
			q.committed, err = strconv.Atoi(string(position))
			return err
		})
	})
}

// startRedrives redrives again and again until a redrive fails or stop is called. stop returns the error of the
// redrive.
func (q *quarantineCheck) startRedrives(p *pipeline.Pipeline, m *mortalMemory) (stop func() error) {
	var stopped atomic.Bool
	var redrives sync.WaitGroup
	var err error
	redrives.Go(func() {
		err = q.redrive(p, m)
		for err == nil && !stopped.Load() {
			err = q.redrive(p, m)
		}
	})
	return func() error {
		stopped.Store(true)
		redrives.Wait()
		return err
	}
}

// redrive redrives the dead letters once.
func (q *quarantineCheck) redrive(p *pipeline.Pipeline, m *mortalMemory) error {
	_, err := redrive.Run(q.ctx, redrive.Options{
		Pipeline: p, Letters: m, Quarantine: m, Backoff: pipeline.Backoff{Base: time.Microsecond, Max: time.Microsecond},
	})
	return err
}

// requireNoError fails the check for an error other than the death of the process.
func (q *quarantineCheck) requireNoError(err error) {
	q.rt.Helper()
	if err != nil && !errors.Is(err, ErrCrash) {
		q.rt.Fatal(err)
	}
}

// openSource returns a source of the changes that are not committed, in small pages.
func (q *quarantineCheck) openSource() pipeline.Source {
	read := q.committed
	return pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		left := q.stream.Changes[read:]
		if len(left) == 0 {
			return nil, io.EOF
		}
		p := &pipeline.Page{Partition: "0"}
		for _, c := range left[:min(3, len(left))] {
			p.Changes = append(p.Changes, *c)
		}
		read += len(p.Changes)
		p.Position = pipeline.Position(strconv.Itoa(read))
		return p, nil
	})
}

// finish runs a last process in which the sink accepts everything, and checks the result.
func (q *quarantineCheck) finish() {
	clear(q.sink.refusals)
	q.runProcess()
	q.checkDeliveries()
	q.checkMemoryIsEmpty()
}

// checkDeliveries checks that the sink got every change, and that the first deliveries of an item's changes were in
// order.
func (q *quarantineCheck) checkDeliveries() {
	positions := make(map[string]int) // of the changes in the stream, by name
	for i, c := range q.stream.Changes {
		positions[nameOf(c)] = i
	}
	delivered := make(map[string]bool)     // changes by name
	lastPosition := make(map[item.Key]int) // position of the item's last change that was delivered first
	for _, c := range q.sink.got {
		name := nameOf(c)
		if delivered[name] {
			continue // a repeated delivery
		}
		delivered[name] = true
		if last, hasEarlier := lastPosition[c.Key]; hasEarlier && positions[name] < last {
			q.rt.Fatalf("%s came first after a later change of its item; the sink got:\n%s", name, q.sink.list())
		}
		lastPosition[c.Key] = positions[name]
	}
	if len(delivered) != len(positions) {
		q.rt.Fatalf("the sink got %d of %d changes:\n%s", len(delivered), len(positions), q.sink.list())
	}
}

// checkMemoryIsEmpty checks that no dead letter and no mark is left.
func (q *quarantineCheck) checkMemoryIsEmpty() {
	m, err := q.open(q.dir)
	if err != nil {
		q.rt.Fatalf("open: %v", err)
	}
	for l, err := range m.Letters.Read(q.ctx) {
		q.rt.Fatalf("a letter is left: %s of %s (%v)", l.Class, l.Sequence, err)
	}
	for mark, err := range m.Quarantine.Marks(q.ctx, "") {
		q.rt.Fatalf("a mark is left: %s (%v)", mark.Key, err)
	}
	closeWith(q.rt, m.Close)
}

func nameOf(c *record.Change) string { return fmt.Sprintf("%s at %s", c.Key, c.Version) }

// refusingSink is a sink without versions. It refuses each change a drawn number of times. It stands for an external
// system, so it survives the death of a process.
type refusingSink struct {
	keepsOrder bool

	mu     sync.Mutex
	memory *mortalMemory
	// refusals has the remaining refusals of each change. The changes are numbered in the order in which the sink first
	// saw them
	refusals []int
	numbers  map[string]int   // numbers of the changes, by name
	got      []*record.Change // changes that the sink accepted
}

var _ pipeline.KeyOrderer = (*refusingSink)(nil)

// KeepsKeyOrder returns the drawn value. If it is true, one batch may have several changes of a key. If the sink
// refuses one of them, the later ones fail, too.
func (s *refusingSink) KeepsKeyOrder() bool { return s.keepsOrder }

func (s *refusingSink) Write(_ context.Context, ds []pipeline.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed pipeline.BatchError
	err := s.memory.runStep(func() error {
		refusedKeys := make(map[item.Key]bool)
		for i := range ds {
			c := ds[i].Change
			switch {
			case refusedKeys[c.Key]:
				failed.Add(i, errTransient)
			case s.refuse(c):
				refusedKeys[c.Key] = true
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

// refuse reports whether the sink refuses a change now, and counts the refusal.
func (s *refusingSink) refuse(c *record.Change) bool {
	if s.numbers == nil {
		s.numbers = make(map[string]int)
	}
	n, isKnown := s.numbers[nameOf(c)]
	if !isKnown {
		n = len(s.numbers)
		s.numbers[nameOf(c)] = n
	}
	if n >= len(s.refusals) || s.refusals[n] == 0 {
		return false
	}
	s.refusals[n]--
	return true
}

func (s *refusingSink) list() string {
	var b strings.Builder
	for _, c := range s.got {
		fmt.Fprintln(&b, " ", nameOf(c))
	}
	return b.String()
}

// mortalMemory is the Memory of one process. All its calls fail once the process has died.
type mortalMemory struct {
	Memory
	faults *Faults
}

var (
	_ deadletter.Store = (*mortalMemory)(nil)
	_ state.Quarantine = (*mortalMemory)(nil)
)

// runStep runs one step of the process, unless the process has died. The process may die before or after the step.
func (m *mortalMemory) runStep(step func() error) error {
	return m.faults.Call(1, func(int) error { return step() })
}

func (m *mortalMemory) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	return m.runStep(func() error { return m.Letters.Put(ctx, letters) })
}

func (m *mortalMemory) Remove(ctx context.Context, ids []string) error {
	return m.runStep(func() error { return m.Letters.Remove(ctx, ids) })
}

func (m *mortalMemory) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	if m.faults.crashed() {
		return func(yield func(pipeline.DeadLetter, error) bool) { yield(pipeline.DeadLetter{}, ErrCrash) }
	}
	return m.Letters.Read(ctx)
}

func (m *mortalMemory) MarkKeys(ctx context.Context, sink string, keys []item.Key) error {
	return m.runStep(func() error { return m.Quarantine.MarkKeys(ctx, sink, keys) })
}

func (m *mortalMemory) HasMarks(ctx context.Context, sink string, keys []item.Key) (marked []bool, err error) {
	err = m.runStep(func() error {
		marked, err = m.Quarantine.HasMarks(ctx, sink, slices.Clone(keys))
		return err
	})
	return marked, err
}

func (m *mortalMemory) Clear(ctx context.Context, mark state.Mark) (gone bool, err error) {
	err = m.runStep(func() error {
		gone, err = m.Quarantine.Clear(ctx, mark)
		return err
	})
	return gone, err
}

func (m *mortalMemory) Marks(ctx context.Context, sink string) iter.Seq2[state.Mark, error] {
	if m.faults.crashed() {
		return func(yield func(state.Mark, error) bool) { yield(state.Mark{}, ErrCrash) }
	}
	return m.Quarantine.Marks(ctx, sink)
}
