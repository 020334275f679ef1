package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff_FullJitterWithinBounds(t *testing.T) {
	b, defaults := Backoff{Base: time.Second, Max: 10 * time.Second}, Backoff{}
	for _, test := range []struct {
		b       Backoff
		attempt int
		top     time.Duration
	}{
		{b, 0, time.Second}, {b, 1, 2 * time.Second}, {b, 3, 8 * time.Second}, {b, 4, 10 * time.Second},
		{b, 63, 10 * time.Second}, {b, 1000, 10 * time.Second},
		{defaults, 0, 100 * time.Millisecond}, {defaults, 1000, 30 * time.Second},
	} {
		var low, high bool
		for range 1000 {
			d := test.b.Delay(test.attempt, 0)
			if d < 0 || d > test.top {
				t.Fatalf("%+v waits %v", test, d)
			}
			low = low || d < test.top/3
			high = high || d > test.top*2/3
		}
		if !low || !high {
			t.Errorf("%+v: the waits do not spread up to the top", test)
		}
		if d := test.b.Delay(test.attempt, time.Minute); d != time.Minute {
			t.Errorf("%+v waits %v, the server asked for a minute", test, d)
		}
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
