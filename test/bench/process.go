package main

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// work does work in this process, and returns how many records it processed.
type work func(ctx context.Context) (records int, err error)

// once does the work once, and measures its time.
func once(ctx context.Context, w work) (sample, error) {
	wall, processor := time.Now(), processorTime()
	n, err := w(ctx)
	s := sample{records: n, processor: processorTime() - processor, wall: time.Since(wall)}
	if err == nil && n == 0 {
		err = fmt.Errorf("no record was worked at")
	}
	return s, err
}

// inProcess returns a side that repeats the work until a round is full. It is for work that takes much less than a
// round.
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

// repeat does the work for two milliseconds, or once if that takes longer. Compared with that, reading the clock costs
// nothing.
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

// allocsOf returns the number of allocations for each record.
func allocsOf(ctx context.Context, w work) (float64, error) {
	var n int
	var failed error
	// AllocsPerRun rounds down to whole allocations of a run. The runtime itself allocates now and then.
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

// processorTime returns the processor time that this process has used. Other processes do not make it longer.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // Getrusage does not fail for the process itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
