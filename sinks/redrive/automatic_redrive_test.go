package redrive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/redrive"
	"github.com/tablewake/tablewake/sinks/state"
)

// outages is a world in which Auto runs. Its sink free can be down, and can permanently refuse chosen changes.
type outages struct {
	*world
	down    atomic.Bool
	refuses atomic.Pointer[func(*record.Change) bool]
	tries   atomic.Int64
	log     bytes.Buffer
	stop    context.CancelFunc
	err     chan error
}

// auto starts Auto for a new world. It must be called in a synctest bubble.
func auto(t *testing.T, change ...func(*redrive.AutoOptions)) *outages {
	w := &outages{err: make(chan error, 1)}
	w.world = newWorld(t, func(o *pipeline.Options) { o.MaxHold, o.Backoff = time.Hour, pipeline.Backoff{Max: time.Minute} })
	w.free.fail = func(c *record.Change) error {
		w.tries.Add(1)
		switch {
		case w.down.Load():
			return pipeline.Transient(errBad)
		case refused(&w.refuses, c):
			return errBad
		}
		return nil
	}
	o := redrive.AutoOptions{
		Options: redrive.Options{Pipeline: w, Letters: w.box, Quarantine: w.marks, Name: "shop"},
		Logger:  slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() { w.err <- redrive.Auto(ctx, o) }()
	return w
}

// refuse makes the sink free refuse the changes for which f returns true, from now on.
func (w *outages) refuse(f func(*record.Change) bool) { w.refuses.Store(&f) }

func refused(refuses *atomic.Pointer[func(*record.Change) bool], c *record.Change) bool {
	f := refuses.Load()
	return f != nil && (*f)(c)
}

func (w *outages) end(t *testing.T) {
	t.Helper()
	w.stop()
	if err := <-w.err; err != nil {
		t.Errorf("Auto ended with %v", err)
	}
}

// After an outage of a sink, Auto delivers the dead letters in order. It notices the end of the outage either by other
// writes to the sink or by trying the dead letters themselves.
func TestAuto(t *testing.T) {
	for _, traffic := range []bool{true, false} {
		t.Run(fmt.Sprintf("traffic=%v", traffic), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := auto(t)
				w.down.Store(true)
				w.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text), recordJSON("a", 3, text))
				if got := w.box.list(); got != "free:a1:held free:a3:quarantined free:b2:held" && got != "free:a1:held free:b2:held free:a3:quarantined" && got != "free:b2:held free:a1:held free:a3:quarantined" {
					t.Fatalf("letters %s", got)
				}
				time.Sleep(5 * time.Hour)
				if got := w.free.take(); got != "" {
					t.Errorf("the sink is down and got %s", got)
				}
				w.down.Store(false)
				soon := 31 * time.Minute // Wait.Max, and some time to look at the letters
				if traffic {
					w.fails(t)
					w.run(t, recordJSON("c", 4, text))
					w.free.take()
					soon = time.Minute
				}
				time.Sleep(soon)
				synctest.Wait()
				if got := w.free.take(); got != "a1 b2 a3" && got != "a1 a3 b2" {
					t.Errorf("the sink got %s", got)
				}
				if w.box.list() != "" || w.marks.list() != "" {
					t.Errorf("left: letters %s, marks %s", w.box.list(), w.marks.list())
				}
				w.end(t)
				if log := w.log.String(); !strings.Contains(log, "level=INFO") || !strings.Contains(log, "delivered=3") || strings.Contains(log, "errorString:") {
					t.Errorf("the log is %s", log)
				}
			})
		})
	}
}

// fails runs a write that first fails temporarily, like traffic during an outage.
func (w *outages) fails(t *testing.T) {
	t.Helper()
	w.down.Store(true)
	go func() {
		time.Sleep(time.Second)
		w.down.Store(false)
	}()
	w.run(t, recordJSON("d", 9, text))
}

// If a sink stays down, Auto tries its dead letters rarely, so that the tries do not load the sink.
func TestAuto_StaysDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := auto(t)
		w.down.Store(true)
		w.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text))
		time.Sleep(2 * time.Hour)
		before := w.tries.Load()
		time.Sleep(24 * time.Hour)
		if n := w.tries.Load() - before; n < 24 || n > 24*60/5*2 {
			t.Errorf("two letters were tried %d times in a day", n)
		}
		w.end(t)
		if got := w.marks.list(); got != "free:a free:b" {
			t.Errorf("marks %s", got)
		}
	})
}

// Auto does not deliver changes that a sink refused permanently, nor the changes that wait behind them, because a
// person has to repair the cause. It delivers dead letters of the outage.
func TestAuto_LeavesWhatWasRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := auto(t)
		w.refuse(func(c *record.Change) bool { return nth(c) == 2 })
		w.run(t, recordJSON("b", 2, text), recordJSON("b", 3, text))
		w.down.Store(true)
		w.run(t, recordJSON("a", 1, text))
		w.down.Store(false)
		w.refuses.Store(nil)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := w.free.take(); got != "a1" {
			t.Errorf("the sink got %s", got)
		}
		if got := w.box.list(); got != "free:b2:write free:b3:quarantined" || w.marks.list() != "free:b" {
			t.Errorf("letters %s, marks %s", got, w.marks.list())
		}
		w.redrive(t)
		if got := w.free.take(); got != "b2 b3" {
			t.Errorf("redriven by hand the sink got %s", got)
		}
		w.end(t)
	})
}

// If a sink now refuses a dead letter of an outage, Auto keeps the dead letter and tries it rarely.
func TestAuto_IsRefusedNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := auto(t)
		w.down.Store(true)
		w.run(t, recordJSON("a", 1, text))
		w.refuse(func(*record.Change) bool { return true })
		w.down.Store(false)
		before := w.tries.Load()
		time.Sleep(24 * time.Hour)
		if n := w.tries.Load() - before; n < 12 || n > 24*60/5 {
			t.Errorf("it was tried %d times in a day", n)
		}
		w.end(t)
		if w.box.list() != "free:a1:held" || w.marks.list() != "free:a" {
			t.Errorf("letters %s, marks %s", w.box.list(), w.marks.list())
		}
	})
}

// Without a quarantine, Auto finds dead letters by reading the store.
func TestAuto_WithoutQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := auto(t, func(o *redrive.AutoOptions) { o.Quarantine = nil })
		w.down.Store(true)
		w.run(t, recordJSON("a", 1, text))
		w.down.Store(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := w.free.take(); got != "a1" || w.box.list() != "" {
			t.Errorf("the sink got %s; letters %s", got, w.box.list())
		}
		w.end(t)
	})
}

// unreadable is a store whose dead letters cannot be read until a time. It counts the calls of Release.
type unreadable struct {
	*box
	fail     error
	until    time.Time
	released atomic.Int64
}

func (u *unreadable) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	if u.fail != nil && time.Now().Before(u.until) {
		return func(yield func(pipeline.DeadLetter, error) bool) { yield(pipeline.DeadLetter{}, u.fail) }
	}
	return u.box.Read(ctx)
}

func (u *unreadable) Release(context.Context) error {
	u.released.Add(1)
	return nil
}

// If the store of dead letters fails, Auto logs the error without its text and tries again. Auto releases the dead
// letters that it has read. A fatal error ends Auto.
func TestAuto_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letters := &unreadable{fail: errors.New("canary"), until: time.Now().Add(3 * time.Hour)}
		w := auto(t, func(o *redrive.AutoOptions) { letters.box = o.Letters.(*box); o.Letters = letters })
		w.down.Store(true)
		w.run(t, recordJSON("a", 1, text))
		w.down.Store(false)
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		if got := w.free.take(); got != "a1" {
			t.Errorf("the sink got %s", got)
		}
		w.end(t)
		if log := w.log.String(); !strings.Contains(log, "level=ERROR") || strings.Contains(log, "canary") {
			t.Errorf("the log is %s", log)
		}
		if letters.released.Load() == 0 {
			t.Error("what it read it never gave back")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		gone := pipeline.Fatal(errors.New("no such bucket"))
		w := auto(t, func(o *redrive.AutoOptions) {
			o.Letters = &unreadable{box: o.Letters.(*box), fail: gone, until: time.Now().Add(time.Hour * 9)}
		})
		w.down.Store(true)
		w.run(t, recordJSON("a", 1, text))
		if err := <-w.err; !errors.Is(err, gone) || !strings.Contains(err.Error(), `sink "free"`) {
			t.Errorf("Auto ended with %v", err)
		}
		w.stop()
	})
}

func TestAuto_Options(t *testing.T) {
	w := newWorld(t)
	whole := redrive.Options{Pipeline: w, Letters: w.box}
	with := func(change func(*redrive.Options)) redrive.AutoOptions {
		o := whole
		change(&o)
		return redrive.AutoOptions{Options: o}
	}
	for want, o := range map[string]redrive.AutoOptions{
		"Pipeline and Letters": {},
		"leave out Sink":       with(func(o *redrive.Options) { o.Sink = "free" }),
		"leave out Sink, Key":  with(func(o *redrive.Options) { o.Classes = []string{"held"} }),
		"Discard":              with(func(o *redrive.Options) { o.Discard = true }),
		"Every":                {Options: whole, Every: -1},
	} {
		if err := redrive.Auto(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}

// marksOf is a quarantine that denies access to the marks of one sink for a time. The time begins with the second look.
type marksOf struct {
	state.Quarantine
	sink  string
	lasts time.Duration
	looks int
	began time.Time
}

func (m *marksOf) Marks(ctx context.Context, sink string) iter.Seq2[state.Mark, error] {
	if sink == m.sink {
		if m.looks++; m.looks == 2 {
			m.began = time.Now()
		}
		if m.looks >= 2 && time.Since(m.began) < m.lasts {
			return func(yield func(state.Mark, error) bool) {
				yield(state.Mark{}, pipeline.Denied(errors.New("AccessDenied (allow dynamodb:Query)")))
			}
		}
	}
	time.Sleep(time.Second) // as slow as a server
	return m.Quarantine.Marks(ctx, sink)
}

// If Auto may not read the marks of one sink for pipeline.DeniedFor, Auto ends with a fatal error. This is so even if
// it can read the marks of other sinks and however rarely it looks.
func TestAuto_Denied(t *testing.T) {
	for _, every := range []time.Duration{time.Minute, time.Hour} {
		for _, lasts := range []time.Duration{3 * time.Minute, 24 * time.Hour} {
			t.Run(fmt.Sprintf("%v, for %v", every, lasts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var marks *marksOf
					w := auto(t, func(o *redrive.AutoOptions) {
						marks = &marksOf{Quarantine: o.Quarantine, sink: "free", lasts: lasts}
						o.Quarantine, o.Every = marks, every
					})
					if lasts < pipeline.DeniedFor {
						time.Sleep(12 * time.Hour)
						w.end(t)
						return
					}
					select {
					case err := <-w.err:
						if took := time.Since(marks.began); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "allow dynamodb:Query") || took > pipeline.DeniedFor+2*time.Minute {
							t.Errorf("after %v Auto ended with %v", took, err)
						}
					case <-time.After(12 * time.Hour):
						t.Error("Auto does not end")
					}
					w.stop()
				})
			})
		}
	}
}
