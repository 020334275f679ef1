package main

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// work is done in this process. It returns how many records it was.
type work func(ctx context.Context) (records int, err error)

// once does the work once, and times it.
func once(ctx context.Context, w work) (sample, error) {
	wall, processor := time.Now(), processorTime()
	n, err := w(ctx)
	s := sample{records: n, processor: processorTime() - processor, wall: time.Since(wall)}
	if err == nil && n == 0 {
		err = fmt.Errorf("no record was worked at")
	}
	return s, err
}

// inProcess is a side that does the work as often as fills a round, for work
// that takes much less.
func (b *bench) inProcess(w work) side {
	return side{
		run: func(ctx context.Context) (sample, error) {
			var all sample
			for all.processor < b.span {
				s, err := once(ctx, func(ctx context.Context) (int, error) { return repeat(ctx, w) })
				if err != nil {
					return all, err
				}
				all.records += s.records
				all.processor += s.processor
				all.wall += s.wall
			}
			return all, nil
		},
		allocs: func(ctx context.Context) (float64, error) { return allocsOf(ctx, w) },
	}
}

// repeat does the work for two milliseconds, and once at least, so that asking for the time is
// nothing beside it.
func repeat(ctx context.Context, w work) (n int, err error) {
	for start := time.Now(); ; {
		some, err := w(ctx)
		if err != nil {
			return n, err
		}
		if n += some; time.Since(start) >= 2*time.Millisecond {
			return n, nil
		}
	}
}

// allocsOf counts the allocations of a record.
func allocsOf(ctx context.Context, w work) (float64, error) {
	var n int
	var failed error
	// Rounded down to whole allocations of a run: the runtime makes one now and then.
	total := testing.AllocsPerRun(2, func() {
		some, err := w(ctx)
		if err != nil {
			failed = err
		}
		n = some
	})
	if failed != nil || n == 0 {
		return 0, failed
	}
	return total / float64(n), nil
}

// processorTime is what this process has used of the processors: other processes do not
// make it longer.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no error for the process itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
