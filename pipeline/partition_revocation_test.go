package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

var errTaken = errors.New("taken by another")

// controlled is a source that keeps its Control.
type controlled struct {
	Source
	control Control
	ended   bool
}

var _ Controlled = (*controlled)(nil)

func (s *controlled) Control(c Control) {
	if c == nil {
		s.ended = true
		return
	}
	s.control = c
}

// running starts a pipeline over pages and waits until nothing moves. stop ends the run and returns the error of Run.
func running(t *testing.T, sink Sink, ps []*Page, set ...func(*Options)) (p *Pipeline, src *controlled, c *commits, stop func() error) {
	t.Helper()
	p, c = newPipeline(t, sink, set...), &commits{}
	src = &controlled{Source: endless(ps...)}
	done := make(chan error, 1)
	go func() { done <- p.Run(t.Context(), src, c) }()
	synctest.Wait()
	return p, src, c, func() error {
		p.Stop(t.Context())
		return <-done
	}
}

func holdsNothing(t *testing.T, p *Pipeline) {
	t.Helper()
	if use := inFlight(p.run); use != (amount{}) {
		t.Errorf("%+v is held", use)
	}
}

func TestRevoke_WhatIsQueuedIsGivenUp(t *testing.T) {
	for name, set := range map[string]func(*Options){
		"ready":     func(o *Options) { o.Routes[0].Batch = Batch{Fill: true} },
		"parked":    func(o *Options) { o.Routes[0].Sink = &recorder{fail: alwaysDown} },
		"no letter": func(o *Options) { o.Routes[0].Filters = []Filter{failingFilter{}} },
		"behind a letter": func(o *Options) {
			o.Routes[0].Filters = []Filter{failingFilter{}}
			o.DeadLetters = &graveyard{fail: func() error { return errDown }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := map[string]int{}
				ps := []*Page{pageOf(n, "p", 1, "a", "b"), pageOf(n, "p", 2, "a", "c")}
				p, src, c, stop := running(t, &recorder{}, ps, set)
				src.control.Revoke(errTaken, "p")
				synctest.Wait()
				l := p.Ledger().Sinks["s"]
				under := l.Pending // a Put in flight may finish
				if l.Revoked+under != 4 || under > 1 && name != "behind a letter" {
					t.Errorf("ledger %+v", l)
				}
				if err := p.Ledger().Check(); err != nil {
					t.Error(err)
				}
				if under == 0 {
					holdsNothing(t, p)
					if err := stop(); err != nil {
						t.Error(err)
					}
				} else if err := stop(); err == nil {
					t.Error("no StopError with letters under way that are never kept")
				}
				if c.at("p") != "" {
					t.Errorf("committed %q of a partition that was revoked", c.at("p"))
				}
			})
		})
	}
}

func alwaysDown(context.Context, []Delivery) error { return Transient(errDown) }

type failingFilter struct{}

func (failingFilter) Check(*record.Change) (Verdict, error) { return Verdict{}, errBad }

func TestRevoke_CancelsWritesAndTriesTheOthersAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		var causes []error
		first := true
		s := &recorder{fail: func(ctx context.Context, _ []Delivery) error {
			if first {
				first = false
				<-ctx.Done()
				causes = append(causes, context.Cause(ctx))
				return ctx.Err()
			}
			return nil
		}}
		// With a Count of 4 and Fill, both partitions are in one batch.
		p, src, c, stop := running(t, s, []*Page{pageOf(n, "p", 1, "a", "b"), pageOf(n, "q", 1, "c", "d"), pageOf(n, "p", 2, "a")}, func(o *Options) {
			o.DeadLetters = &graveyard{}
			o.Routes[0].Batch, o.Routes[0].Concurrency = Batch{Count: 4, Fill: true}, 1
		})
		start := time.Now()
		src.control.Revoke(errTaken, "p")
		synctest.Wait()
		if len(causes) != 1 || !errors.Is(causes[0], errTaken) {
			t.Errorf("the Write's context ended with %v", causes)
		}
		if got := s.all(); !slices.Equal(got, []string{"c1", "d1"}) || time.Since(start) != 0 {
			t.Errorf("written %v after %v: what is of other partitions is tried again at once", got, time.Since(start))
		}
		if r := p.Routes()[0]; !r.Failed.IsZero() {
			t.Error("a Write that was cut short counts as a failure of the sink")
		}
		checkLedger(t, p, none(SinkLedger{Routed: 5, Written: 2, Revoked: 3}))
		holdsNothing(t, p)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if c.at("p") != "" || c.at("q") != "1" || !src.ended {
			t.Errorf("committed %q and %q; told of the end: %v", c.at("p"), c.at("q"), src.ended)
		}
	})
}

// The next incarnation of a partition may bring a change while a Write of the same key is in flight. The change waits,
// and is written after that Write ended.
func TestRevoke_NextIncarnationWaitsForTheWriteUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		s := &recorder{fail: func(context.Context, []Delivery) error {
			if tries.Add(1) == 1 {
				time.Sleep(time.Minute) // ignores its context
				return errDown
			}
			return nil
		}}
		next := make(chan *Page, 1)
		n := map[string]int{}
		src := &controlled{Source: SourceFunc(func(ctx context.Context) (*Page, error) {
			select {
			case page := <-next:
				return page, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})}
		p, c := newPipeline(t, s), &commits{}
		done := make(chan error, 1)
		go func() { done <- p.Run(t.Context(), src, c) }()
		next <- pageOf(n, "p", 1, "a", "a")
		synctest.Wait()
		src.control.Revoke(errTaken, "p")
		late := pageOf(n, "p", 2, "a")
		next <- late
		synctest.Wait()
		next <- pageOf(map[string]int{}, "p~1", 1, "a", "a")
		synctest.Wait()
		if n := tries.Load(); n != 1 {
			t.Errorf("%d Writes of one key at once", n)
		}
		time.Sleep(2 * time.Minute)
		if got := s.all(); !slices.Equal(got, []string{"a1", "a2"}) || c.at("p~1") != "1" || c.at("p") != "" {
			t.Errorf("written %v, committed %q and %q", got, c.at("p"), c.at("p~1"))
		}
		checkLedger(t, p, none(SinkLedger{Routed: 4, Written: 2, Revoked: 2}))
		p.Stop(t.Context())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Pages of a revoked partition that reached no sink are not counted as read. Their undecodable records are dropped with
// them.
func TestRevoke_PageThatIsBlockedByItsUndecodableRecords(t *testing.T) {
	for name, g := range map[string]DeadLetters{"no dead letters": nil, "dead letters are down": &graveyard{fail: func() error { return errDown }}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := map[string]int{}
				p, src, _, stop := running(t, &recorder{}, []*Page{withBad(pageOf(n, "p", 1, "a")), pageOf(n, "p", 2, "a"), pageOf(n, "q", 1, "b")},
					func(o *Options) { o.DeadLetters = g })
				src.control.Revoke(errTaken, "p")
				synctest.Wait()
				holdsNothing(t, p)
				if l := p.Ledger(); l.Source.Read != 1 || l.Check() != nil {
					t.Errorf("%+v, %v", l.Source, l.Check())
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestRevoke_AfterTheEndAndOfUnknownPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src, _, stop := running(t, &recorder{fail: hanging("a")}, []*Page{pageOf(map[string]int{}, "p", 1, "a")}, func(o *Options) { o.StopTimeout = time.Second })
		src.control.Revoke(errTaken, "nobody")
		src.control.Drain("nobody")
		if err := stop(); err == nil {
			t.Error("no StopError")
		}
		src.control.Revoke(errTaken, "p")
		checkLedger(t, p, none(SinkLedger{Routed: 1, Pending: 1}))
	})
}

func TestDrain_BatchesThatWaitAreWrittenUpToThePartition(t *testing.T) {
	for name, batch := range map[string]Batch{"fill": {Fill: true}, "linger": {Linger: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := map[string]int{}
				s := &recorder{}
				next := make(chan *Page, 8)
				src := &controlled{Source: SourceFunc(func(ctx context.Context) (*Page, error) {
					select {
					case page := <-next:
						return page, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})}
				p, c := newPipeline(t, s, func(o *Options) { o.Routes[0].Batch = batch }), &commits{}
				done := make(chan error, 1)
				go func() { done <- p.Run(t.Context(), src, c) }()
				next <- pageOf(n, "q", 1, "a")
				next <- pageOf(n, "p", 1, "b")
				next <- pageOf(n, "q", 2, "c")
				synctest.Wait()
				start := time.Now()
				src.control.Drain("p")
				synctest.Wait()
				if got := s.all(); !slices.Equal(got, []string{"a1", "b1"}) || c.at("p") != "1" || time.Since(start) != 0 {
					t.Errorf("written %v, committed %q after %v", got, c.at("p"), time.Since(start))
				}
				next <- pageOf(n, "p", 2, "d")
				synctest.Wait()
				if got := s.all(); !slices.Equal(got, []string{"a1", "b1", "c1", "d1"}) {
					t.Errorf("written %v: what comes of a drained partition waits for nothing either", got)
				}
				p.Stop(t.Context())
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Partitions that are revoked together are dropped together. The partitions between them continue.
func TestRevoke_ManyPartitionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 500
		var ps []*Page
		var odd []string
		n := map[string]int{}
		for i := range all {
			name := fmt.Sprint("p", i)
			ps = append(ps, pageOf(n, name, 1, fmt.Sprint("k", i), fmt.Sprint("l", i)))
			if i%2 == 1 {
				odd = append(odd, name)
			}
		}
		var down atomic.Bool
		down.Store(true)
		s := &recorder{fail: func(context.Context, []Delivery) error {
			if down.Load() {
				return Transient(errDown)
			}
			return nil
		}}
		p, src, c, stop := running(t, s, ps, func(o *Options) { o.Routes[0].Batch = Batch{Count: 7} })
		src.control.Revoke(errTaken, odd...)
		down.Store(false)
		time.Sleep(time.Hour)
		checkLedger(t, p, none(SinkLedger{Routed: 2 * all, Written: all, Revoked: all}))
		for i := range all {
			want := Position("1")
			if i%2 == 1 {
				want = ""
			}
			if at := c.at(fmt.Sprint("p", i)); at != want {
				t.Errorf("committed %q of p%d, want %q", at, i, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A run keeps no state of a partition once Read has returned all its pages and its last Write has ended. So a run of
// months does not grow.
func TestForget_NothingIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		var down atomic.Bool
		down.Store(true)
		s := &recorder{fail: func(ctx context.Context, ds []Delivery) error {
			switch {
			case string(ds[0].Change.Key) == "a":
				time.Sleep(time.Minute) // ignores its context
			case down.Load():
				return Transient(errDown)
			}
			return nil
		}}
		p, src, c, stop := running(t, s, []*Page{pageOf(n, "revoked", 1, "a"), pageOf(n, "drained", 1, "b"), pageOf(n, "read", 1, "c")},
			func(o *Options) { o.Routes[0].Batch = Batch{Count: 1} })
		known := func() (names []string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.Sorted(maps.Keys(p.run.partitions))
		}
		src.control.Drain("drained", "idle")
		src.control.Revoke(errTaken, "revoked", "nobody")
		src.control.Forget("drained", "idle", "revoked", "nobody", "unknown")
		if got := known(); !slices.Equal(got, []string{"drained", "read", "revoked"}) {
			t.Errorf("%v are known: what is under way is not forgotten, and nothing else is kept", got)
		}
		down.Store(false)
		time.Sleep(2 * time.Minute)
		if got := known(); !slices.Equal(got, []string{"read"}) {
			t.Errorf("%v are known after the last Write", got)
		}
		if shares := len(p.run.memory.shares); shares != 1 {
			t.Errorf("%d shares of one partition", shares)
		}
		if c.at("drained") != "1" || c.at("read") != "1" || c.at("revoked") != "" {
			t.Errorf("committed %q, %q and %q", c.at("drained"), c.at("read"), c.at("revoked"))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
