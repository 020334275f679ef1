package pipeline

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// finished returns the indexes of those of the first n records that t reports as finished.
func finished(t *Tracker, n int) []int {
	var done []int
	for i := range n {
		if t.Finished(i) {
			done = append(done, i)
		}
	}
	return done
}

func TestTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			var failed BatchError
			for i := range ds {
				if !up.Load() && ds[i].Change.Key == "b" {
					failed.Add(i, Transient(errDown))
				}
			}
			return failed.OrNil()
		}}
		n := map[string]int{}
		page := pageOf(n, "p", 1, "a", "b", "c", "b", "x", "d")
		var tracker Tracker
		page.Tracker = &tracker
		if got := finished(&tracker, 6); got != nil {
			t.Errorf("finished before the run: %v", got)
		}
		p, _, _, stop := running(t, s, []*Page{page}, func(o *Options) {
			o.Filters = []Filter{dropKey("x")}
			o.Routes = append(o.Routes, Route{Name: "second", Sink: &recorder{}})
		})
		if got := finished(&tracker, 7); !slices.Equal(got, []int{0, 2, 4, 5, 6}) {
			t.Errorf("while b is down, finished are %v", got)
		}
		up.Store(true)
		time.Sleep(time.Hour)
		if got := finished(&tracker, 6); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("at the end, finished are %v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 5, Written: 5}))
	})
}

// dropKey is a filter that drops the changes of a key.
type dropKey item.Key

func (d dropKey) Check(c *record.Change) (Verdict, error) {
	return Verdict{Drop: c.Key == item.Key(d)}, nil
}

// While a page waits for the letters of its undecodable records, none of its records is finished.
func TestTracker_Undecodable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		g := &graveyard{fail: func() error {
			if !up.Load() {
				return errDown
			}
			return nil
		}}
		page := withBad(pageOf(map[string]int{}, "p", 1, "a"))
		var tracker Tracker
		page.Tracker = &tracker
		_, _, _, stop := running(t, &recorder{}, []*Page{page}, func(o *Options) { o.DeadLetters = g })
		if got := finished(&tracker, 2); got != nil {
			t.Errorf("while dead letters are down, finished are %v", got)
		}
		up.Store(true)
		time.Sleep(time.Hour)
		if got := finished(&tracker, 2); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("finished are %v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
