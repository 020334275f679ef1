package page_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/page"
)

// Stores are read only while a page is requested, and at most once in each pause. If a read fails, the former result
// stays.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var readings atomic.Int64
		var fails atomic.Bool
		cache := page.NewReportCache(5*time.Second, func(err error) string { return "failed: " + err.Error() }, func(context.Context) (*fleet.Report, error) {
			readings.Add(1)
			if fails.Load() {
				return nil, errors.New("no answer")
			}
			return &fleet.Report{Pipeline: "shop"}, nil
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			cache.Run(ctx)
		}()
		time.Sleep(time.Hour)
		if n := readings.Load(); n != 0 {
			t.Errorf("it read the report %d times, and nobody asked", n)
		}
		if r, problem := cache.Latest(); r != nil || problem != "" {
			t.Errorf("before a reading it has %+v, %q", r, problem)
		}
		for range 600 { // for a minute there is a request every tenth of a second
			time.Sleep(100 * time.Millisecond)
			if r, problem := cache.Latest(); r == nil || r.Pipeline != "shop" || problem != "" {
				t.Fatalf("it has %+v, %q", r, problem)
			}
		}
		if n := readings.Load(); n < 10 || n > 14 {
			t.Errorf("it read the report %d times in a minute", n)
		}
		fails.Store(true)
		cache.Latest()
		time.Sleep(20 * time.Second)
		if r, problem := cache.Latest(); r == nil || problem != "failed: no answer" {
			t.Errorf("after a failure it has %+v, %q", r, problem)
		}
		time.Sleep(time.Hour)
		if r, problem := cache.Latest(); r == nil || problem != "" {
			t.Errorf("an hour after a failure it has %+v, %q", r, problem)
		}
		stop()
		<-ended
	})
}

// A caller that asks seldom gets the result of a new reading, never the result of its former call.
func TestReadings_Within(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		cache := page.NewReportCache(5*time.Second, error.Error, func(context.Context) (*fleet.Report, error) {
			time.Sleep(3 * time.Second)
			if fails.Load() {
				return nil, errors.New("no answer")
			}
			return &fleet.Report{At: time.Now()}, nil
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			cache.Run(ctx)
		}()
		for range 3 {
			if r, problem := cache.Recent(ctx, 30*time.Second); r == nil || problem != "" || time.Since(r.At) > 30*time.Second {
				t.Errorf("it has %+v, %q", r, problem)
			}
			time.Sleep(5 * time.Minute)
		}
		fails.Store(true)
		if r, problem := cache.Recent(ctx, 30*time.Second); r != nil || problem != "no answer" {
			t.Errorf("after a failure it has %+v, %q", r, problem)
		}
		time.Sleep(5 * time.Minute)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if r, problem := cache.Recent(short, 30*time.Second); r != nil || problem != "the stores are still being read: ask again" {
			t.Errorf("before the reading ends it has %+v, %q", r, problem)
		}
		stop()
		<-ended
	})
}
