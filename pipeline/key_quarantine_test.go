package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// marks is a Quarantine in memory.
type marks struct {
	fail func(call string) error // fail is asked before each call; nil: all calls work

	mu    sync.Mutex
	count map[string]map[item.Key]int
	asked int
}

var _ Quarantine = (*marks)(nil)

func (m *marks) HasMarks(_ context.Context, sink string, keys []item.Key) ([]bool, error) {
	if m.fail != nil {
		if err := m.fail("held"); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	held := make([]bool, len(keys))
	for i, k := range keys {
		held[i] = m.count[sink][k] > 0
	}
	return held, nil
}

func (m *marks) MarkKeys(_ context.Context, sink string, keys []item.Key) error {
	if m.fail != nil {
		if err := m.fail("hold"); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count == nil {
		m.count = map[string]map[item.Key]int{}
	}
	if m.count[sink] == nil {
		m.count[sink] = map[item.Key]int{}
	}
	for _, k := range keys {
		m.count[sink][k]++
	}
	return nil
}

// guarded is a recorder that is Guarded: versions decide which of its writes win.
type guarded struct{ recorder }

var _ Guarded = (*guarded)(nil)

func (*guarded) Guarded() bool { return true }

// lines returns the letters as sink, change and class.
func (g *graveyard) lines() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for _, l := range g.letters {
		out = append(out, fmt.Sprint(l.Sink, " ", l.Key, l.Sequence, " ", l.Class))
	}
	return out
}

func TestQuarantine_BehindAPermanentErrorTheKeyFollows(t *testing.T) {
	for _, keepsOrder := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := map[string]int{}
			g, q := &graveyard{}, &marks{}
			s := &recorder{keepsOrder: keepsOrder, fail: failing("a", 2, errDown)}
			p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
			src := []*Page{pageOf(n, "p", 1, "a", "b"), pageOf(n, "p", 2, "a", "a", "b"), pageOf(n, "p", 3, "a", "b")}
			var c commits
			if err := p.Run(t.Context(), pages(nil, src...), &c); err != nil {
				t.Fatal(err)
			}
			got := s.all()
			slices.Sort(got)
			if !slices.Equal(got, []string{"a1", "b1", "b2", "b3"}) || c.at("p") != "3" {
				t.Errorf("written %v, committed %q", got, c.at("p"))
			}
			if want := []string{"s a2 write", "s a3 quarantined", "s a4 quarantined"}; !slices.Equal(g.lines(), want) {
				t.Errorf("letters %v, want %v", g.lines(), want)
			}
			if q.count["s"]["a"] != 3 || len(q.count["s"]) != 1 {
				t.Errorf("marks %v: want each letter counted", q.count)
			}
			checkLedger(t, p, none(SinkLedger{Routed: 7, Written: 4, DeadLettered: 1, Quarantined: 2}))

			// The mark outlives the run: the next pipeline finds it.
			p = newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
			if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 4, "a", "b", "a")), nil); err != nil {
				t.Fatal(err)
			}
			checkLedger(t, p, none(SinkLedger{Routed: 3, Written: 1, Quarantined: 2}))
		})
	}
}

func TestQuarantine_GuardedSinksGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		g, q := &graveyard{}, &marks{}
		s := &guarded{recorder{fail: failing("a", 1, errDown)}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "a")), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); !slices.Equal(got, []string{"a2"}) || len(q.count) > 0 || len(g.letters) != 1 {
			t.Errorf("written %v, marks %v, letters %v", got, q.count, g.lines())
		}
	})
}

// A failure before the sink, of a filter or a plan, holds back the key like an error of Write.
func TestQuarantine_BehindAFailedPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		g, q := &graveyard{}, &marks{}
		s := &planned{plan: func(d *Delivery) error {
			if d.Change.Key == "a" && nth(d.Change) == 1 {
				return errBad
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "b", "a"), pageOf(n, "p", 2, "a")), nil); err != nil {
			t.Fatal(err)
		}
		if want := []string{"s a1 plan", "s a2 quarantined", "s a3 quarantined"}; !slices.Equal(g.lines(), want) || !slices.Equal(s.all(), []string{"b1"}) {
			t.Errorf("letters %v, written %v", g.lines(), s.all())
		}
	})
}

// The quarantine is asked once for a batch, with all its keys.
func TestQuarantine_IsAskedOnceABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &marks{}
		p := newPipeline(t, &recorder{keepsOrder: true}, func(o *Options) { o.DeadLetters, o.Quarantine = &graveyard{}, q })
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "a", "c")), nil); err != nil {
			t.Fatal(err)
		}
		if q.asked != 1 {
			t.Errorf("asked %d times for one batch", q.asked)
		}
	})
}

// The letter is durable before the key is held, and the key is held before the commit, however long each step takes.
func TestQuarantine_StepsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var steps []string
		until := func(what string, d time.Duration) error {
			if time.Since(start) < d {
				return errDown
			}
			steps = append(steps, what)
			return nil
		}
		g := &graveyard{fail: func() error { return until("letter", time.Hour) }}
		q := &marks{}
		q.fail = func(call string) error {
			if call == "hold" {
				return until("hold", 2*time.Hour)
			}
			return nil
		}
		s := &recorder{fail: failing("a", 1, errDown)}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
		c := CommitterFunc(func(context.Context, string, Position) error { steps = append(steps, "commit"); return nil })
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "a")), c); err != nil {
			t.Fatal(err)
		}
		if want := []string{"letter", "hold", "commit"}; !slices.Equal(steps, want) || time.Since(start) < 2*time.Hour {
			t.Errorf("steps %v after %v, want %v", steps, time.Since(start), want)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 2, DeadLettered: 1, Quarantined: 1}))
	})
}

// If the process crashes between any two steps, no change is lost and no change overtakes another.
func TestQuarantine_CrashBetweenSteps(t *testing.T) {
	for _, dies := range []string{"put", "hold", "commit"} {
		t.Run(dies, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				crash := Fatal(errors.New("the process dies"))
				dead := true
				at := func(step string) error {
					if dead && step == dies {
						return crash
					}
					return nil
				}
				g := &graveyard{fail: func() error { return at("put") }}
				q := &marks{fail: at}
				s := &recorder{fail: failing("a", 1, errDown, errDown)}
				run := func() error {
					n := map[string]int{}
					p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
					c := CommitterFunc(func(context.Context, string, Position) error { return at("commit") })
					return p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "a")), c)
				}
				if err := run(); !errors.Is(err, crash) {
					t.Fatal(err)
				}
				dead = false
				if err := run(); err != nil {
					t.Fatal(err)
				}
				if got := s.all(); len(got) > 0 {
					t.Errorf("%v went past the letter of a1", got)
				}
				kept := strings.Join(g.lines(), "\n")
				if q.count["s"]["a"] < 2 || !strings.Contains(kept, "a1") || !strings.Contains(kept, "a2") {
					t.Errorf("marks %v, letters %v", q.count, g.lines())
				}
			})
		})
	}
}

// If the quarantine does not answer, the run waits and dead-letters nothing.
func TestQuarantine_QuarantineThatIsDown(t *testing.T) {
	for name, bad := range map[string]func() error{
		"error": func() error { return errDown },
		"panic": func() error { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				g := &graveyard{}
				q := &marks{fail: func(string) error {
					if time.Since(start) < time.Hour {
						return bad()
					}
					return nil
				}}
				s := &recorder{}
				p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
				if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b")), nil); err != nil {
					t.Fatal(err)
				}
				if len(s.all()) != 2 || len(g.letters) > 0 || time.Since(start) < time.Hour {
					t.Errorf("written %v, letters %v after %v", s.all(), g.lines(), time.Since(start))
				}
			})
		})
	}
}

func TestQuarantine_UndecodableHoldsItsKeyWhereVersionsDoNotDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		g, q := &graveyard{}, &marks{}
		free, safe := &recorder{}, &guarded{}
		p := newPipeline(t, free, func(o *Options) {
			o.DeadLetters, o.Quarantine = g, q
			o.Routes = append(o.Routes, Route{Name: "safe", Sink: safe})
		})
		if err := p.Run(t.Context(), pages(nil, withBad(pageOf(n, "p", 1, "b")), pageOf(n, "p", 2, "a", "b")), nil); err != nil {
			t.Fatal(err)
		}
		if got := free.all(); !slices.Equal(got, []string{"b1", "b2"}) {
			t.Errorf("the unguarded sink got %v: a follows its undecodable record", got)
		}
		if got := safe.all(); len(got) != 3 {
			t.Errorf("the guarded sink got %v", got)
		}
		if want := []string{" a7 undecodable", "s a1 quarantined"}; !slices.Equal(g.lines(), want) || q.count["s"]["a"] != 2 || q.count["safe"]["a"] != 0 {
			t.Errorf("letters %v, marks %v", g.lines(), q.count)
		}
		if err := p.Ledger().Check(); err != nil {
			t.Error(err)
		}
	})
}
