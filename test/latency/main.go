// Command latency measures, on DynamoDB Local and with the built program, how long a
// write takes from the table into a view: from the start of a consumer to its first
// record, in a steady stream, and across a rolling restart of two consumers. It prints what
// it finds and asserts nothing.
//
//	go run ./test/servers -only dynamodb -- go run ./test/latency [-n 400] [-rate 20]
//
// Consumers poll eagerly (polling: {max_idle: 50ms}). A time is taken from when the server
// acknowledged the write until a read of the view shows it.
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
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 400, "writes of each measurement")
	rate := flag.Float64("rate", 20, "writes a second")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *n, *rate)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, n int, rate float64) (err error) {
	dir, err := os.MkdirTemp("", "tablewake-latency-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "tablewake")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/tablewake").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	w, err := newWorld(ctx, dir, program)
	if err != nil {
		return err
	}
	defer w.close()
	for _, step := range []func() error{
		func() error { return w.firstRecord(ctx, "start to first record, leases and tables new") },
		func() error { return w.firstRecord(ctx, "start to first record, leases there") },
		func() error { return w.steady(ctx, n, rate) },
		func() error { return w.rolling(ctx, n, rate) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// firstRecord starts a consumer where a record waits for it.
func (w *world) firstRecord(ctx context.Context, what string) error {
	if err := w.put(ctx, "first"); err != nil {
		return err
	}
	began := time.Now()
	c, err := w.start("task-1")
	if err != nil {
		return err
	}
	err = w.seen(ctx, "first")
	fmt.Printf("%-48s %v\n", what, time.Since(began).Round(time.Millisecond))
	return errors.Join(err, c.stop())
}

// steady measures writes while one consumer reads.
func (w *world) steady(ctx context.Context, n int, rate float64) error {
	c, err := w.start("task-1")
	if err != nil {
		return err
	}
	if err = w.put(ctx, "warm"); err == nil {
		err = w.seen(ctx, "warm")
	}
	var took []time.Duration
	if err == nil {
		took, err = w.load(ctx, n, rate, nil)
	}
	show("write to view, polling eagerly", took)
	return errors.Join(err, c.stop())
}

// rolling measures writes while two consumers are replaced, one after the other.
func (w *world) rolling(ctx context.Context, n int, rate float64) error {
	var fleet [2]*consumer
	for i := range fleet {
		var err error
		if fleet[i], err = w.start(fmt.Sprintf("task-%d", i+1)); err != nil {
			return err
		}
	}
	if err := errors.Join(w.put(ctx, "again"), w.seen(ctx, "again")); err != nil {
		return err
	}
	pause := time.Duration(float64(n) / rate / 4 * float64(time.Second))
	took, err := w.load(ctx, n, rate, func() error {
		for i := range fleet {
			time.Sleep(pause)
			if err := fleet[i].stop(); err != nil {
				return err
			}
			var err error
			if fleet[i], err = w.start(fmt.Sprintf("task-%d", i+1)); err != nil {
				return err
			}
		}
		return nil
	})
	show("write to view, across a rolling restart", took)
	return errors.Join(err, fleet[0].stop(), fleet[1].stop())
}

func show(what string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(time.Millisecond) }
	fmt.Printf("%-48s p50 %v, p99 %v, most %v (%d writes)\n", what, at(0.5), at(0.99), at(1), len(took))
}
