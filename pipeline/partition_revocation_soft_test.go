package pipeline

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// slow is a Write that takes a second, unless it is cancelled.
func slow(ctx context.Context, _ []Delivery) error {
	if Sleep(ctx, time.Second) != nil {
		return ctx.Err()
	}
	return nil
}

func TestRevokeSoft_WritesInFlightFinishAndNoneStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{fail: slow}
		page := pageOf(map[string]int{}, "p", 1, "a", "b", "c", "d")
		var tracker Tracker
		page.Tracker = &tracker
		p, src, c, stop := running(t, s, []*Page{page}, func(o *Options) {
			o.Routes[0].Concurrency, o.Routes[0].Batch.Count = 1, 2
		})
		src.control.RevokeSoft("p", "nobody")
		src.control.RevokeSoft("p")
		time.Sleep(time.Minute)
		if got := s.all(); !slices.Equal(got, []string{"a1", "b1"}) {
			t.Errorf("written %v: what was under way, and no more", got)
		}
		if got := finished(&tracker, 4); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("finished are %v", got)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 4, Written: 2, Revoked: 2}))
		holdsNothing(t, p)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if c.at("p") != "" {
			t.Errorf("committed %q", c.at("p"))
		}
	})
}

// A change that fails after a soft revoke is not tried again.
func TestRevokeSoft_FailuresAreRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &recorder{fail: func(ctx context.Context, ds []Delivery) error {
			n++
			_ = slow(ctx, ds)
			return Transient(errDown)
		}}
		p, src, _, stop := running(t, s, []*Page{pageOf(map[string]int{}, "p", 1, "a", "b")})
		src.control.RevokeSoft("p")
		time.Sleep(time.Hour)
		if n != 1 {
			t.Errorf("%d Writes", n)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 2, Revoked: 2}))
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRevokeSoft_ThenRevokeCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{fail: func(ctx context.Context, _ []Delivery) error { <-ctx.Done(); return context.Cause(ctx) }}
		p, src, _, stop := running(t, s, []*Page{pageOf(map[string]int{}, "p", 1, "a")})
		src.control.RevokeSoft("p")
		time.Sleep(time.Hour)
		checkLedger(t, p, none(SinkLedger{Routed: 1, Pending: 1}))
		src.control.Revoke(errTaken, "p")
		synctest.Wait()
		checkLedger(t, p, none(SinkLedger{Routed: 1, Revoked: 1}))
		holdsNothing(t, p)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// If a partition is revoked while the quarantine is asked for its keys, that request is cancelled.
func TestRevoke_CancelsTheQuestionWhetherAKeyIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src, _, stop := running(t, &recorder{}, []*Page{pageOf(map[string]int{}, "p", 1, "a", "b", "a")}, func(o *Options) {
			o.DeadLetters, o.Quarantine = &graveyard{}, silentMarks{}
		})
		src.control.Revoke(errTaken, "p")
		synctest.Wait()
		checkLedger(t, p, none(SinkLedger{Routed: 3, Revoked: 3}))
		holdsNothing(t, p)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A change that is revoked while its key is looked up in the quarantine is not written afterwards.
func TestRevokeSoft_NoWriteStartsAfterTheReadOfTheQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{}
		p, src, _, stop := running(t, s, []*Page{pageOf(map[string]int{}, "p", 1, "a", "b"), pageOf(map[string]int{}, "q", 1, "c")}, func(o *Options) {
			o.Routes[0].Concurrency, o.Routes[0].Batch = 1, Batch{Count: 3, Linger: time.Second}
			o.DeadLetters, o.Quarantine = &graveyard{}, slowMarks{}
		})
		time.Sleep(2 * time.Second) // the quarantine has not answered yet
		src.control.RevokeSoft("p")
		time.Sleep(time.Minute)
		if got := s.all(); !slices.Equal(got, []string{"c1"}) {
			t.Errorf("written %v: want those of the other partition only", got)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 3, Written: 1, Revoked: 2}))
		holdsNothing(t, p)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// slowMarks is a Quarantine that answers after three seconds that no key is held.
type slowMarks struct{ silentMarks }

func (slowMarks) HasMarks(ctx context.Context, _ string, keys []item.Key) ([]bool, error) {
	if Sleep(ctx, 3*time.Second) != nil {
		return nil, ctx.Err()
	}
	return make([]bool, len(keys)), nil
}

// silentMarks is a Quarantine whose HasMarks does not return before its context ends.
type silentMarks struct{}

func (silentMarks) MarkKeys(context.Context, string, []item.Key) error { return nil }

func (silentMarks) HasMarks(ctx context.Context, _ string, _ []item.Key) ([]bool, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Changes that a hard-stopped run left pending do not stay pending: the next run routes them again.
func TestRun_AfterAHardStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{fail: alwaysDown}
		p := newPipeline(t, s)
		once := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() { <-ctx.Done(); p.Stop(ctx) }()
			return p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b")), nil)
		}
		if _, ok := errors.AsType[*StopError](once()); !ok {
			t.Error("no hard stop")
		}
		checkLedger(t, p, none(SinkLedger{Routed: 2, Pending: 2}))
		s.fail = nil
		if err := once(); err != nil {
			t.Error(err)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 4, Written: 2, Revoked: 2}))
	})
}
