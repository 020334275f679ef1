package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// sortedRecorder is a recorder whose waiting changes may be packed.
type sortedRecorder struct {
	recorder
	refuse error // the error of WriteSorted
	counts int   // what WriteSorted returns as the number of coalesced deliveries
	asked  int   // calls of WriteSorted
	packed int   // calls of WriteSorted that read all changes
}

var (
	_ Guarded      = (*sortedRecorder)(nil)
	_ EventIgnorer = (*sortedRecorder)(nil)
	_ SortedWriter = (*sortedRecorder)(nil)
)

func (s *sortedRecorder) Guarded() bool       { return true }
func (s *sortedRecorder) IgnoresEvents() bool { return true }

func (s *sortedRecorder) WriteSorted(ctx context.Context, all iter.Seq2[*Delivery, error]) (int, error) {
	s.asked++
	if s.refuse != nil {
		return 0, s.refuse
	}
	var ds []Delivery
	for d, err := range all {
		if err != nil {
			return 0, err
		}
		ds = append(ds, *d)
	}
	s.packed++
	return s.counts, s.Write(ctx, ds)
}

// tens returns n pages, each with ten changes of ten keys.
func tens(n int) []*Page {
	counts := map[string]int{}
	var ps []*Page
	for i := range n {
		ps = append(ps, pageOf(counts, "p", i+1, "j", "i", "h", "g", "f", "e", "d", "c", "b", "a"))
	}
	return ps
}

// Changes that wait for a batch larger than the bounds are packed, and the batch is written full. The speed of the
// source and of the sink does not change the batches.
func TestSorted_BatchIsLargerThanTheBounds(t *testing.T) {
	run := func(t *testing.T, delay time.Duration) string {
		s := &sortedRecorder{recorder: recorder{keepsOrder: true, fail: func(context.Context, []Delivery) error {
			time.Sleep(delay)
			return nil
		}}}
		p := newPipeline(t, s, fill(300), func(o *Options) { o.MaxChanges = 40 })
		src := pages(nil, tens(100)...)
		var c commits
		err := p.Run(t.Context(), SourceFunc(func(ctx context.Context) (*Page, error) {
			time.Sleep(delay / 7)
			return src.Read(ctx)
		}), &c)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.batches) != 4 || len(s.batches[0]) != 300 || s.packed < 3 || c.at("p") != "100" {
			t.Errorf("%d batches, %d of them packed; committed %q", len(s.batches), s.packed, c.at("p"))
		}
		checkLedger(t, p, none(SinkLedger{Routed: 1000, Written: 1000}))
		return fmt.Sprint(s.batches)
	}
	synctest.Test(t, func(t *testing.T) {
		first := run(t, 0)
		for _, delay := range []time.Duration{time.Millisecond, time.Hour} {
			if again := run(t, delay); again != first {
				t.Errorf("the batches depend on time:\n%s\n%s", first, again)
			}
		}
	})
}

// The ledger has the number of deliveries that the sink coalesced. A wrong number fails the batch, which Write then gets.
func TestSorted_CoalescedAreCounted(t *testing.T) {
	for counts, want := range map[int]SinkLedger{
		7:   {Routed: 300, Written: 293, Coalesced: 7},
		301: {Routed: 300, Written: 300},
		-1:  {Routed: 300, Written: 300},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sortedRecorder{recorder: recorder{keepsOrder: true}, counts: counts}
			p := newPipeline(t, s, fill(300), func(o *Options) { o.MaxChanges = 40 })
			if err := p.Run(t.Context(), pages(nil, tens(30)...), nil); err != nil {
				t.Fatal(err)
			}
			checkLedger(t, p, none(want))
		})
	}
}

// A batch is cut when its compressed changes take MaxPacked bytes.
func TestSorted_BudgetCutsTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sortedRecorder{recorder: recorder{keepsOrder: true}}
		p := newPipeline(t, s, fill(10_000), func(o *Options) { o.MaxChanges, o.MaxPacked = 40, 1500 })
		if err := p.Run(t.Context(), pages(nil, tens(100)...), nil); err != nil {
			t.Fatal(err)
		}
		if n := len(s.batches); n < 5 || n > 25 {
			t.Errorf("%d batches", n)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 1000, Written: 1000}))
	})
}

// If the sink refuses a batch as a whole, its changes are written one by one where needed. The bad change goes to dead
// letters with its record, and no other change does.
func TestSorted_BadChangeIsIsolated(t *testing.T) {
	for what, refuse := range map[string]error{"in a sorted batch too": nil, "all sorted batches": io.ErrClosedPipe} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sortedRecorder{refuse: refuse}
				s.keepsOrder = true
				s.fail = func(_ context.Context, ds []Delivery) error {
					if slices.ContainsFunc(ds, func(d Delivery) bool { return name(d.Change) == "c3" }) {
						return errors.New("bad")
					}
					return nil
				}
				g := &graveyard{}
				p := newPipeline(t, s, fill(300), func(o *Options) { o.MaxChanges, o.DeadLetters = 40, g })
				var c commits
				if err := p.Run(t.Context(), pages(nil, tens(60)...), &c); err != nil {
					t.Fatal(err)
				}
				if len(g.letters) != 1 || string(g.letters[0].Raw) != `{"key":"c","n":3}` {
					t.Errorf("letters %+v", g.letters)
				}
				if s.asked == 0 || c.at("p") != "60" {
					t.Errorf("%d sorted batches, committed %q", s.asked, c.at("p"))
				}
				checkLedger(t, p, none(SinkLedger{Routed: 600, Written: 599, DeadLettered: 1}))
			})
		})
	}
}

// If a partition is revoked while its changes are packed or written, these changes are dropped. The other partitions
// continue.
func TestSorted_RevokedPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sortedRecorder{recorder: recorder{keepsOrder: true, fail: func(ctx context.Context, ds []Delivery) error {
			if len(ds) > 100 && Sleep(ctx, time.Hour) != nil {
				return ctx.Err()
			}
			return nil
		}}}
		counts := map[string]int{}
		var ps []*Page
		for i := range 10 {
			ps = append(ps, pageOf(counts, "p", i+1, "pa", "pb", "pc", "pd", "pe", "pf", "pg", "ph", "pi", "pj"))
			ps = append(ps, pageOf(counts, "q", i+1, "qa", "qb", "qc", "qd", "qe", "qf", "qg", "qh", "qi", "qj"))
		}
		p, src, c, stop := running(t, s, ps, fill(150), func(o *Options) { o.MaxChanges = 40 })
		src.control.Revoke(errTaken, "q")
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if c.at("p") != "10" || c.at("q") != "" {
			t.Errorf("committed p %q, q %q", c.at("p"), c.at("q"))
		}
		if l := p.Ledger().Sinks["s"]; l.Written < 100 || l.Revoked == 0 || l.Pending != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// A packed batch whose Write is cancelled for a revoked partition is written again without being unpacked.
func TestSorted_RevokedBatchStaysPacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := &sortedRecorder{recorder: recorder{keepsOrder: true, fail: func(ctx context.Context, _ []Delivery) error {
			if calls++; calls == 1 && Sleep(ctx, time.Hour) != nil {
				return ctx.Err()
			}
			return nil
		}}}
		counts := map[string]int{}
		var ps []*Page
		for i := range 10 {
			ps = append(ps, pageOf(counts, "p", i+1, "pa", "pb", "pc", "pd", "pe"), pageOf(counts, "q", i+1, "qa", "qb", "qc", "qd", "qe"))
		}
		var log bytes.Buffer
		p, src, c, stop := running(t, s, ps, fill(100), func(o *Options) {
			o.MaxChanges = 40
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		src.control.Revoke(errTaken, "q")
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if s.asked != 2 || calls != 2 || strings.Contains(log.String(), "unpacked") {
			t.Errorf("%d calls of WriteSorted, %d in all; the log:\n%s", s.asked, calls, log.String())
		}
		if c.at("p") != "10" || c.at("q") != "" {
			t.Errorf("committed p %q, q %q", c.at("p"), c.at("q"))
		}
		checkLedger(t, p, none(SinkLedger{Routed: 100, Written: 50, Revoked: 50}))
	})
}

// controlledApart is an apart source that keeps its Control, so that a test can revoke partitions.
type controlledApart struct {
	*apart
	control Control
}

func (s *controlledApart) Control(c Control) { s.control = c }

// After a packed batch failed, the changes of a paused partition stay packed and use no memory of the bounds. They are
// written once the failure ends, unless they are revoked before.
func TestSorted_PausedPartitionStaysPacked(t *testing.T) {
	for _, revoked := range []bool{false, true} {
		t.Run(fmt.Sprint("revoked ", revoked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				down.Store(true)
				s := &sortedRecorder{recorder: recorder{keepsOrder: true, fail: func(_ context.Context, ds []Delivery) error {
					var failed BatchError
					for i := range ds {
						if down.Load() && ds[i].Change.Key == "ill" {
							failed.Add(i, Transient(errDown))
						}
					}
					return failed.OrNil()
				}}}
				counts := map[string]int{}
				src := &controlledApart{apart: &apart{left: map[string][]*Page{}, turn: []string{"p", "q"}, paused: map[string]bool{}, wake: make(chan struct{}, 1)}}
				for i := range 40 {
					src.left["p"] = append(src.left["p"], pageOf(counts, "p", i+1, "ill", "ill", "ill", "ill", "ill"))
					src.left["q"] = append(src.left["q"], pageOf(counts, "q", i+1, "well"))
				}
				p := newPipeline(t, s, fill(200), func(o *Options) { o.MaxChanges = 40 })
				var c commits
				done := make(chan error, 1)
				go func() { done <- p.Run(t.Context(), src, &c) }()
				time.Sleep(time.Minute)
				synctest.Wait()
				kept := 0
				for i := range p.run.schedulers[0].keptPacked {
					kept += p.run.schedulers[0].keptPacked[i].count
				}
				if use := inFlight(p.run); use.changes >= 40 || kept < 100 || !src.paused["p"] || len(src.left["q"]) > 0 {
					t.Errorf("%+v is in flight and %d changes stay packed; p is paused: %v; %d pages of q are not read", use, kept, src.paused["p"], len(src.left["q"]))
				}
				down.Store(false)
				want := SinkLedger{Routed: 240, Written: 240}
				if revoked {
					down.Store(true)
					asked := s.asked
					src.control.Revoke(errTaken, "p")
					synctest.Wait()
					if l := p.Ledger().Sinks["s"]; l.Revoked < int64(kept) || s.asked > asked {
						t.Errorf("%+v, want %d or more revoked; %d calls of WriteSorted began after it", l, kept, s.asked-asked)
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				p.Stop(t.Context())
				if err := <-done; err != nil {
					t.Error(err)
				}
				if revoked {
					want = p.Ledger().Sinks["s"]
					want.Written, want.Revoked, want.Pending = 40, want.Routed-40, 0
				}
				checkLedger(t, p, none(want))
				if !revoked && c.at("p") != "40" || c.at("q") != "40" {
					t.Errorf("committed p %q, q %q", c.at("p"), c.at("q"))
				}
			})
		})
	}
}

// A partition that is revoked while its changes are unpacked uses no memory after that.
func TestSorted_RevokedWhileUnpacked(t *testing.T) {
	p := newPipeline(t, &sortedRecorder{recorder: recorder{keepsOrder: true}}, fill(10))
	r := newRun(t.Context(), p, pages(nil), nil)
	s, part := r.schedulers[0], r.partition("p")
	page := &inflightPage{partition: part, deliveries: 2, unfinished: 2}
	page.watermarkID, _ = part.watermark.Begin("1", 2)
	packs := &pack{bytes: 7, pages: 1}
	s.packedBytes = packs.bytes
	b := &batch{phase: unpacking, err: errMustUnpack, chunks: []chunk{{page: page, count: 2, bytes: 40, packed: &packed{pack: packs}}}}
	s.keepPacked(b)
	if want := cloneMemory(2, 2*20); r.memory.used != want || r.memory.cloned != r.memory.used {
		t.Errorf("%+v is in flight before two changes are unpacked, want %d bytes", r.memory.used, want)
	}
	b.unpacked = make([][]queuedDelivery, 1)
	part.state = revokedHard
	s.applyPackedResult(b)
	if r.memory.used != (amount{}) || r.memory.cloned != (amount{}) || s.packedBytes != 0 || s.ready.count != 0 {
		t.Errorf("%+v is in flight, and %d deliveries are ready", r.memory.used, s.ready.count)
	}
}
