package main

import (
	"context"
	"runtime"
)

// coresRows measure the whole pipeline on two cores and on one.
func coresRows() []row {
	return []row{{
		id:   "cores",
		work: "the same pipeline on two cores",
		peer: "itself on one core",
		note: "by the clock, so that what else runs on the machine counts",
		of:   wallRate, least: 1.7, input: true,
		missed: "both cores are busy all the time, and a record takes more of them: memory and its collection are what they share",
		open:   openCores,
	}}
}

func openCores(ctx context.Context, b *bench) (*contest, error) {
	if runtime.NumCPU() < 2 {
		return nil, &missing{"a second core"}
	}
	const passes = 8 // at its start and at its end a run has work for one core only, and its memory grows at the start
	bodies, records := b.usual().pages(32)
	// A pipeline has as many workers as there are cores when it is made.
	on := func(cores int) (func(ctx context.Context) (int, error), error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		w, err := newWhole(ctx, b.usual(), bodies)
		if err != nil {
			return nil, err
		}
		w.passes = passes
		return func(ctx context.Context) (int, error) {
			if runtime.GOMAXPROCS(0) != cores {
				runtime.GOMAXPROCS(cores)
			}
			return w.run(ctx)
		}, nil
	}
	two, err := on(2)
	if err != nil {
		return nil, err
	}
	one, err := on(1)
	if err != nil {
		return nil, err
	}
	c, err := agree(ctx, b, passes*records, two, one)
	if err == nil {
		c.close = collectAsCommands()
	}
	return c, err
}
