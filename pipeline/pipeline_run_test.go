package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// newPipeline makes a pipeline with one sink called "s" and applies with to its options.
func newPipeline(t *testing.T, s Sink, with ...func(*Options)) *Pipeline {
	t.Helper()
	o := Options{Name: "test", Routes: []Route{{Name: "s", Sink: s}}}
	for _, f := range with {
		f(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkLedger fails the test unless the ledger balances and the counts of the sink are want.
func checkLedger(t *testing.T, p *Pipeline, want SinkLedger) {
	t.Helper()
	l := p.Ledger()
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprintf("%+v", l.Sinks["s"]); got != fmt.Sprintf("%+v", want) {
		t.Errorf("ledger of the sink:\n got %s\nwant %+v", got, want)
	}
}

func TestRun_DeliversInOrderAndCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{}
		p := newPipeline(t, s, func(o *Options) { o.Routes[0].Concurrency = 1 })
		var c commits
		err := p.Run(t.Context(), pages(nil,
			pageOf(n, "p", 1, "a", "b"), pageOf(n, "p", 2, "a"), pageOf(n, "q", 1, "c"), pageOf(n, "p", 3)), &c)
		if err != nil {
			t.Fatal(err)
		}
		got := s.all()
		slices.Sort(got)
		if want := []string{"a1", "a2", "b1", "c1"}; !slices.Equal(got, want) {
			t.Errorf("written %v, want %v", got, want)
		}
		if c.at("p") != "3" || c.at("q") != "1" {
			t.Errorf("committed %v", c.last)
		}
		checkLedger(t, p, SinkLedger{Routed: 4, Written: 4, NoEffect: map[string]int64{}, RouteFiltered: map[string]int64{}})
	})
}

func TestRun_OneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(t, &recorder{})
		done := make(chan error)
		go func() { done <- p.Run(t.Context(), endless(), nil) }()
		synctest.Wait()
		if err := p.Run(t.Context(), pages(nil), nil); err == nil {
			t.Error("a second Run beside the first gave no error")
		}
		p.Stop(t.Context())
		if err := <-done; err != nil {
			t.Errorf("after a soft stop Run returned %v", err)
		}
		p.Stop(t.Context()) // without a run, Stop does nothing
		if err := p.Run(t.Context(), pages(nil), nil); err != nil {
			t.Errorf("a Run after the first: %v", err)
		}
	})
}

func TestRun_PageThatDecodesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{keepsOrder: true}
		p := newPipeline(t, s)
		n := map[string]int{}
		lazy := func(pos int, err error, keys ...string) *Page {
			whole := pageOf(n, "ignored", 99, keys...)
			return &Page{Partition: "p", Position: Position(fmt.Sprint(pos)), Page: record.Page{Bytes: 10},
				Decode: func() (*record.Page, error) { return &whole.Page, err }}
		}
		broken := &record.FramingError{Offset: 7, Err: errors.New("cut")}
		var c commits
		err := p.Run(t.Context(), pages(nil, lazy(1, nil, "a"), lazy(2, broken, "a", "b"), lazy(3, nil, "a"), lazy(4, nil, "a")), &c)
		if f, ok := errors.AsType[*record.FramingError](err); !ok || f != broken {
			t.Errorf("Run returned %v, want the framing error", err)
		}
		got := s.all()
		inOrder := slices.Index(got, "a1") < slices.Index(got, "a2") // changes of different keys have no order
		slices.Sort(got)
		if !inOrder || !slices.Equal(got, []string{"a1", "a2", "b1"}) {
			t.Errorf("written %v: want what stands before the break, and nothing behind it", got)
		}
		if c.at("p") != "1" {
			t.Errorf("committed %q: the page that broke must come again", c.at("p"))
		}
		if r := p.Ledger().Source.Read; r != 3 {
			t.Errorf("read %d, want 3", r)
		}
	})
}

func TestRun_PageBesideAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{}
		p := newPipeline(t, s)
		broken := &record.FramingError{Offset: 7, Err: errors.New("cut")}
		var c commits
		err := p.Run(t.Context(), SourceFunc(func(context.Context) (*Page, error) {
			return pageOf(map[string]int{}, "p", 1, "a"), broken
		}), &c)
		if !errors.Is(err, broken) {
			t.Errorf("Run returned %v", err)
		}
		if got := s.all(); !slices.Equal(got, []string{"a1"}) || c.at("p") != "1" {
			t.Errorf("written %v, committed %q: the page counts", got, c.at("p"))
		}
	})
}

func TestRun_SourcePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(t, &recorder{})
		err := p.Run(t.Context(), SourceFunc(func(context.Context) (*Page, error) { panic("lost") }), nil)
		pe, ok := errors.AsType[*redact.PanicError](err)
		if !ok || pe.Stage != "source" || len(pe.Stack) == 0 {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestRun_CommitIsRetriedAndNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		var got []Position
		fails := 3
		commit := CommitterFunc(func(_ context.Context, _ string, p Position) error {
			if fails > 0 {
				fails--
				return errors.New("table is throttled")
			}
			got = append(got, p)
			return nil
		})
		p := newPipeline(t, &recorder{})
		start := time.Now()
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a"), pageOf(n, "p", 2, "a")), commit); err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 || got[len(got)-1] != "2" || !slices.IsSorted(got) {
			t.Errorf("committed %v", got)
		}
		if time.Since(start) == 0 {
			t.Error("it was retried without a wait")
		}
	})
}

func TestRun_LateCommitterStopsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commit := CommitterFunc(func(context.Context, string, Position) error { return errors.New("down") })
		p := newPipeline(t, &recorder{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := p.Run(ctx, pages(nil, pageOf(map[string]int{}, "p", 1, "a")), commit)
		if stop, ok := errors.AsType[*StopError](err); !ok || stop.Pending != 0 {
			t.Errorf("Run returned %v, want a StopError: the page is not committed", err)
		}
	})
}

func TestRun_CommitterThatPanicsOrIsFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := Fatal(errors.New("the lease is lost"))
		calls := 0
		commit := CommitterFunc(func(context.Context, string, Position) error {
			if calls++; calls == 1 {
				panic("once")
			}
			return lost
		})
		p := newPipeline(t, &recorder{})
		if err := p.Run(t.Context(), endless(pageOf(map[string]int{}, "p", 1, "a")), commit); !errors.Is(err, lost) || calls < 2 {
			t.Errorf("Run returned %v after %d commits", err, calls)
		}
	})
}

func TestRun_PartitionThatEndsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		p := newPipeline(t, &recorder{})
		var c commits
		var ps []*Page
		for i := range 10 {
			page := pageOf(n, fmt.Sprint("p", i), 1, "a", "b")
			page.End = true
			ps = append(ps, page)
		}
		done := make(chan error, 1)
		go func() { done <- p.Run(t.Context(), endless(ps...), &c) }()
		synctest.Wait()
		if parts, shares := len(p.run.partitions), len(p.run.memory.shares); parts != 0 || shares != 0 || len(c.last) != 10 {
			t.Errorf("%d partitions and %d shares are kept of 10 that ended; %d committed", parts, shares, len(c.last))
		}
		p.Stop(t.Context())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestNew_NamesTheOption(t *testing.T) {
	sink := Route{Name: "s", Sink: &recorder{}}
	for _, o := range []Options{
		{},
		{Name: "x"},
		{Name: "x", Routes: []Route{{Name: "s"}}},
		{Name: "x", Routes: []Route{sink, sink}},
		{Name: "x", Routes: []Route{sink}, Workers: -1},
		{Name: "x", Routes: []Route{sink}, Filters: []Filter{nil}},
		{Name: "x", Routes: []Route{sink}, Detectors: []NamedDetector{{Name: "d"}}},
		{Name: "x", Routes: []Route{{Name: "s", Sink: &recorder{}, Rate: -1}}},
	} {
		if p, err := New(o); err == nil || p != nil {
			t.Errorf("New(%+v) gave no error", o)
		}
	}
}

// TestRun_WritersHaveTheirTurn checks that pages do not pile up in memory if the sinks are as fast as the reader. On
// one core the reader and the preparers could hand pages to each other for a whole time slice while writers wait.
func TestRun_WritersHaveTheirTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	page := hundred()
	p, err := New(Options{Name: "bench", Routes: []Route{{Name: "s", Sink: &counting{}}}})
	if err != nil {
		t.Fatal(err)
	}
	const pages = 2000
	n, open := 0, 0
	err = p.Run(t.Context(), SourceFunc(func(context.Context) (*Page, error) {
		if n++; n > pages {
			return nil, io.EOF
		}
		p.mu.Lock()
		open += p.run.unfinished
		p.mu.Unlock()
		again := *page
		return &again, nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if open > 20*pages {
		t.Errorf("%d pages were in flight on average", open/pages)
	}
}
