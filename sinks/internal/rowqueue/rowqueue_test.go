package rowqueue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// Writers with a row in common write one after the other, in the order of arrival, and others side by side.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue[string]
		begun := time.Now()
		for _, r := range []struct {
			rows []string
			want time.Duration // when it begins to write
		}{
			{[]string{"a", "b"}, 0},
			{[]string{"b", "c", ""}, time.Second},
			{[]string{"c", "a", "c"}, 2 * time.Second},
			{[]string{"d", ""}, 0},
			{nil, 0},
			{[]string{"a"}, 3 * time.Second},
		} {
			go func() {
				release, err := q.Wait(t.Context(), r.rows...)
				defer release()
				if at := time.Since(begun); err != nil || at != r.want {
					t.Errorf("%v: %v after %s, want %s", r.rows, err, at, r.want)
				}
				time.Sleep(time.Second)
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(q.last) != 0 {
			t.Errorf("%v are remembered", q.last)
		}
	})
}

// A writer whose context ends while it waits lets later writers pass only after the writers that it waited for.
func TestQueue_Cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue[string]
		begun := time.Now()
		releaseFirst, err := q.Wait(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waiting := func() {
			release, err := q.Wait(t.Context(), "a", "b")
			defer release()
			if at := time.Since(begun); err != nil || at != 10*time.Second {
				t.Errorf("%v after %s", err, at)
			}
		}
		cancelled := func() {
			release, err := q.Wait(ctx, "a", "b")
			defer release()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		}
		go cancelled()
		synctest.Wait()
		go cancelled()
		synctest.Wait()
		go waiting() // arrives while both wait
		time.Sleep(5 * time.Second)
		go waiting() // arrives after both were cancelled
		time.Sleep(5 * time.Second)
		releaseFirst()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(q.last) != 0 {
			t.Errorf("%v are remembered", q.last)
		}
	})
}

// A row is not forgotten while its writer writes, though all who waited for it were cancelled.
func TestQueue_CancelledLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue[string]
		releaseFirst, err := q.Wait(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if release, err := q.Wait(ctx, "a"); err == nil {
				t.Error("a writer did not wait")
			} else {
				release()
			}
		}
		passed := false
		go func() {
			release, err := q.Wait(t.Context(), "a")
			defer release()
			passed = err == nil
		}()
		if synctest.Wait(); passed {
			t.Error("a writer passed the first one")
		}
		releaseFirst()
		if synctest.Wait(); !passed || len(q.last) != 0 {
			t.Errorf("passed: %t, remembered: %v", passed, q.last)
		}
	})
}
