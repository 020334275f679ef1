package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// hanging returns a Write that, for one key, blocks until its context is done.
func hanging(key string) func(context.Context, []Delivery) error {
	return func(ctx context.Context, ds []Delivery) error {
		for i := range ds {
			if string(ds[i].Change.Key) == key {
				<-ctx.Done()
				return context.Cause(ctx)
			}
		}
		return nil
	}
}

func TestStop_HardAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{fail: hanging("b")}
		g := &graveyard{}
		p := newPipeline(t, s, func(o *Options) {
			o.DeadLetters = g
			o.StopTimeout = time.Minute
			o.Routes[0].Batch.Count = 1
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var c commits
		start := time.Now()
		err := p.Run(ctx, endless(pageOf(n, "p", 1, "a"), pageOf(n, "p", 2, "b"), pageOf(n, "p", 3, "c")), &c)
		stop, ok := errors.AsType[*StopError](err)
		if !ok || stop.Pending != 1 || !errors.Is(err, errStopTimeout) {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(start); took != time.Hour+time.Minute {
			t.Errorf("it took %v", took)
		}
		if c.at("p") != "1" || len(g.letters) != 0 {
			t.Errorf("committed %q, letters %v: what a stop cut off is neither", c.at("p"), g.letters)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 3, Written: 2, Pending: 1}))
	})
}

func TestStop_ItsContextTurnsItHard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(t, &recorder{fail: hanging("a")})
		done := make(chan error, 1)
		go func() { done <- p.Run(t.Context(), endless(pageOf(map[string]int{}, "p", 1, "a")), nil) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.Stop(ctx)
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A source may end with the error of the context or with its cause. Both end a soft stop without an error.
func TestStop_SourceThatReturnsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(t, &recorder{})
		done := make(chan error, 1)
		go func() {
			done <- p.Run(t.Context(), SourceFunc(func(ctx context.Context) (*Page, error) {
				<-ctx.Done()
				return nil, fmt.Errorf("waiting for a page: %w", context.Cause(ctx))
			}), nil)
		}()
		synctest.Wait()
		p.Stop(t.Context())
		if err := <-done; err != nil {
			t.Errorf("a soft stop ended with %v", err)
		}
	})
}

func TestStop_EndOfTheSourceWaitsForRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []error
		for range 50 {
			errs = append(errs, RetryAfter(errDown, time.Minute))
		}
		s := &recorder{fail: failing("a", 1, errs...)}
		p := newPipeline(t, s)
		var c commits
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a")), &c); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); !slices.Equal(got, []string{"a1"}) || c.at("p") != "1" {
			t.Errorf("written %v, committed %q", got, c.at("p"))
		}
	})
}

// flushed is a sink with a Flush.
type flushed struct {
	recorder
	log []string
	err error
}

func (f *flushed) Write(ctx context.Context, ds []Delivery) error {
	f.log = append(f.log, "write")
	return f.recorder.Write(ctx, ds)
}

func (f *flushed) Flush(context.Context) error {
	f.log = append(f.log, "flush")
	err := f.err
	f.err = nil
	return err
}

func TestStop_FlushesAfterTheLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flushed{err: Transient(errDown)}
		p := newPipeline(t, f)
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a")), nil); err != nil {
			t.Fatal(err)
		}
		if want := "[write flush flush]"; fmt.Sprint(f.log) != want {
			t.Errorf("%v, want %v", f.log, want)
		}
		f.err = errDown
		if err := p.Run(t.Context(), pages(nil), nil); !errors.Is(err, errDown) {
			t.Errorf("Run returned %v, want the error of Flush", err)
		}
	})
}

// Other processes may wait for the changes of a source that controls its run. After an error of such a source, the run
// waits StopTimeout at most. This holds if Read returns the error and if Fail reports it while memory is full.
func TestStop_ErrorOfALiveSourceIsBounded(t *testing.T) {
	for name, room := range map[string]bool{"Read returns it": true, "Read is not called": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := map[string]int{}
				page := pageOf(n, "p", 1, "a")
				src := &controlled{Source: endless(page)}
				if room {
					src.Source = pages(errBad, page)
				}
				p := newPipeline(t, &recorder{fail: hanging("a")}, func(o *Options) {
					o.StopTimeout = time.Minute
					if !room {
						o.MaxChanges = 1
					}
				})
				start := time.Now()
				done := make(chan error, 1)
				go func() { done <- p.Run(t.Context(), src, nil) }()
				if !room {
					synctest.Wait()
					src.control.Fail(errBad)
				}
				err := <-done
				if _, hard := errors.AsType[*StopError](err); !hard || !errors.Is(err, errBad) || time.Since(start) != time.Minute {
					t.Errorf("Run returned %v after %v", err, time.Since(start))
				}
				if !src.ended {
					t.Error("the source was not told of the end")
				}
				src.control.Fail(errBad) // does nothing, since the run has ended
			})
		})
	}
}

// No other process waits for a replay, so the pages before its error are delivered, however long that takes.
func TestStop_ErrorOfAReplayIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []error
		for range 50 {
			errs = append(errs, RetryAfter(errDown, time.Minute))
		}
		s := &recorder{fail: failing("a", 1, errs...)}
		var c commits
		err := newPipeline(t, s).Run(t.Context(), pages(errBad, pageOf(map[string]int{}, "p", 1, "a")), &c)
		if _, hard := errors.AsType[*StopError](err); hard || !errors.Is(err, errBad) || c.at("p") != "1" {
			t.Errorf("Run returned %v, committed %q", err, c.at("p"))
		}
	})
}
