package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff_FullJitterWithinBounds(t *testing.T) {
	b := Backoff{Base: time.Second, Max: 10 * time.Second}
	for attempt, top := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 3: 8 * time.Second, 4: 10 * time.Second, 63: 10 * time.Second, 1000: 10 * time.Second} {
		var low, high bool
		for range 1000 {
			d := b.delay(attempt, 0)
			if d < 0 || d > top {
				t.Fatalf("attempt %d waits %v, at most %v", attempt, d, top)
			}
			low = low || d < top/3
			high = high || d > top*2/3
		}
		if !low || !high {
			t.Errorf("attempt %d: the waits do not spread up to %v", attempt, top)
		}
		if d := b.delay(attempt, time.Minute); d != time.Minute {
			t.Errorf("attempt %d waits %v, the server asked for a minute", attempt, d)
		}
	}
	if d := (Backoff{}).withDefaults(); d.Base != 100*time.Millisecond || d.Max != 30*time.Second {
		t.Errorf("defaults %+v", d)
	}
}

func TestBackoff_Retry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, broken, stopped := Transient(errors.New("busy")), errors.New("broken"), errors.New("stopped")
		for name, test := range map[string]struct {
			errs []error // one for each try
			want error
		}{
			"success":       {[]error{busy, busy, nil}, nil},
			"permanent":     {[]error{busy, broken}, broken},
			"the ctx ended": {[]error{busy, busy, stopped}, stopped},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			tries, failures, waited := 0, 0, time.Duration(0)
			began := time.Now()
			err := Backoff{}.Retry(ctx, func(_ error, wait time.Duration) { failures++; waited += wait }, func() error {
				if tries++; errors.Is(test.errs[tries-1], stopped) {
					cancel(stopped)
				}
				return test.errs[tries-1]
			})
			if !errors.Is(err, test.want) || tries != len(test.errs) || failures != tries-1 || time.Since(began) != waited {
				t.Errorf("%s: %v after %d tries, %d failures and %v of %v", name, err, tries, failures, time.Since(began), waited)
			}
			cancel(nil)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		if err := Sleep(ctx, time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("a minute takes %v and ends with %v", time.Since(began), err)
		}
		gone := errors.New("gone")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if err := Sleep(ctx, time.Minute); !errors.Is(err, gone) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("a minute that is cut short ends with %v after %v", err, time.Since(began))
		}
		if err := Sleep(ctx, 0); !errors.Is(err, gone) {
			t.Errorf("no wait at all, and ctx done: %v", err)
		}
	})
}
