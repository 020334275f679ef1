// Command latency measures how long a write takes from the table into a view, on DynamoDB Local and with the built
// program. It measures a consumer from its start to its first record, a consumer of a steady stream, and two consumers
// during a rolling restart. It prints the results and asserts nothing.
//
//	go run ./test/servers -only dynamodb -- go run ./test/latency [-n 400] [-rate 20] [-kcl]
//
// Consumers poll often (polling: {max_idle: 50ms}). A time begins when the server acknowledges the write, and ends when
// a read of the view shows the write.
//
// With -kcl the command also measures an application of Amazon's KCL with all its defaults, on its own table. This
// takes some six minutes more. There a write has arrived when the application is called with the record.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 400, "writes of each measurement")
	rate := flag.Float64("rate", 20, "writes a second")
	withKCL := flag.Bool("kcl", false, "measure an application of Amazon's KCL too; needs a JDK and Maven")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *n, *rate, *withKCL)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, n int, rate float64, withKCL bool) (err error) {
	dir, err := os.MkdirTemp("", "tablewake-latency-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "tablewake")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/tablewake").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	if err := measure(ctx, n, rate, "tablewake consume", func(w *world) (reader, error) { return newView(w, dir, program) }); err != nil || !withKCL {
		return err
	}
	return measure(ctx, n, rate, "an application of the KCL", func(w *world) (reader, error) { return newApplication(w), nil })
}

// measure makes all measurements of a reader, on its own table.
func measure(ctx context.Context, n int, rate float64, what string, open func(*world) (reader, error)) error {
	w, err := newWorld(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	r, err := open(w)
	if err != nil {
		return err
	}
	defer r.close()
	fmt.Println(what)
	for _, step := range []func() error{
		func() error { return firstRecord(ctx, w, r, "start to first record, leases and tables new") },
		func() error { return firstRecord(ctx, w, r, "start to first record, leases there") },
		func() error { return steady(ctx, w, r, n, rate) },
		func() error { return rolling(ctx, w, r, n, rate) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// reader reads the stream of a world with one process or several.
type reader interface {
	// start starts a process. Each process has a new name.
	start() (process, error)
	// arrived waits until a write has arrived.
	arrived(ctx context.Context, wr write) error
	close()
}

// process is a running process.
type process interface{ stop() error }

// firstRecord measures the start of a consumer for which a record waits.
func firstRecord(ctx context.Context, w *world, r reader, what string) error {
	first, err := w.put(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	p, err := r.start()
	if err != nil {
		return err
	}
	err = r.arrived(ctx, first)
	fmt.Printf("  %-46s %v\n", what, time.Since(began).Round(time.Millisecond))
	return errors.Join(err, p.stop())
}

// steady measures writes while one consumer reads.
func steady(ctx context.Context, w *world, r reader, n int, rate float64) error {
	p, err := r.start()
	if err != nil {
		return err
	}
	var took []time.Duration
	if err = warm(ctx, w, r); err == nil {
		took, err = load(ctx, w, r, n, rate, nil)
	}
	show("write to arrival", took)
	return errors.Join(err, p.stop())
}

// warm waits until a started process reads.
func warm(ctx context.Context, w *world, r reader) error {
	wr, err := w.put(ctx)
	if err != nil {
		return err
	}
	return r.arrived(ctx, wr)
}

// rolling measures writes while two consumers are replaced, one after the other.
func rolling(ctx context.Context, w *world, r reader, n int, rate float64) error {
	var fleet [2]process
	for i := range fleet {
		var err error
		if fleet[i], err = r.start(); err != nil {
			return err
		}
	}
	if err := warm(ctx, w, r); err != nil {
		return err
	}
	pause := time.Duration(float64(n) / rate / 4 * float64(time.Second))
	took, err := load(ctx, w, r, n, rate, func() error {
		for i := range fleet {
			time.Sleep(pause)
			if err := fleet[i].stop(); err != nil {
				return err
			}
			var err error
			if fleet[i], err = r.start(); err != nil {
				return err
			}
		}
		return nil
	})
	show("write to arrival, across a rolling restart", took)
	return errors.Join(err, fleet[0].stop(), fleet[1].stop())
}

// load writes n items at a rate, without waiting for their arrival. It returns how long each item took to arrive.
// beside runs at the same time.
func load(ctx context.Context, w *world, r reader, n int, rate float64, beside func() error) ([]time.Duration, error) {
	took, errs := make([]time.Duration, n), make([]error, n+1)
	var all sync.WaitGroup
	if beside != nil {
		all.Go(func() { errs[n] = beside() })
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for i := range n {
		wr, err := w.put(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		all.Go(func() {
			errs[i] = r.arrived(ctx, wr)
			took[i] = time.Since(began)
		})
		<-tick.C
	}
	all.Wait()
	return took, errors.Join(errs...)
}

func show(what string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(time.Millisecond) }
	fmt.Printf("  %-46s p50 %v, p99 %v, most %v (%d writes)\n", what, at(0.5), at(0.99), at(1), len(took))
}
