package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/tablewake/tablewake/test/kcl"
	"github.com/tablewake/tablewake/test/server"
)

const (
	applicationPages = 15 // pages of each shard in a round, which are seconds of work
	warmPages        = 80 // pages of each shard before the first round

	applicationLimit = 5 * time.Minute // for each step; the application starts in half a minute
)

// application is an application of the KCL that reads on from round to round. It runs in a JVM with the JVM's own
// defaults, and its lease table is on DynamoDB Local. By default the adapter waits a second between two reads of a
// shard; here it does not.
type application struct {
	readers *readers
	table   string
	leases  *server.Node
	worker  *kcl.Worker // nil before start
	events  chan kcl.Event
}

// startApplication starts the application once, and lets it read until it is warm.
func (r *readers) startApplication(ctx context.Context) (err error) {
	a := &r.application
	if a.worker != nil {
		return nil
	}
	for _, program := range []string{"javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			return &missing{"a JDK of version 17 or above, and Maven"}
		}
	}
	if a.leases, err = server.DynamoDB().Start(ctx); err != nil {
		return err
	}
	a.readers, a.table, a.events = r, r.table(), make(chan kcl.Event, 64)
	a.worker, err = kcl.Start(ctx, kcl.Options{
		Endpoint: a.leases.Endpoint(), StreamsAt: r.endpoint, Streams: []string{streamOf(a.table)},
		Application: "bench", Worker: "bench", Quick: true, Count: true, Busy: true, Java: []string{},
		Tell: func(e kcl.Event) {
			if e.Event == "measuring" || e.Event == "measured" {
				a.events <- e
			}
		},
	})
	if err != nil {
		return err
	}
	_, err = a.read(ctx, r.pages(warmPages))
	return err
}

// streamOf returns the ARN that the server gives to the stream of a table.
func streamOf(table string) string {
	return "arn:aws:dynamodb:" + region + ":123456789012:table/" + table + "/stream/2026-01-01T00:00:00.000"
}

// round reads the pages of one round.
func (a *application) round(ctx context.Context) (sample, error) {
	return a.read(ctx, a.readers.pages(applicationPages))
}

// read lets the application read n pages of each shard. The clock starts before the application may read the first
// page.
func (a *application) read(ctx context.Context, pages int) (out sample, err error) {
	if err := a.worker.Measure(0); err != nil {
		return out, err
	}
	if _, err := a.await(ctx, "measuring"); err != nil {
		return out, err
	}
	begin := time.Now()
	want, err := a.readers.grant(a.table, pages)
	if err != nil {
		return out, err
	}
	if err := a.worker.Measure(want); err != nil {
		return out, err
	}
	e, err := a.await(ctx, "measured")
	if err == nil && e.Records != int64(want) {
		err = fmt.Errorf("the application of the KCL has read %d records of %d", e.Records, want)
	}
	return sample{records: want, processor: e.Processor, wall: time.Since(begin), bytes: residentPeak(a.worker.Process())}, err
}

// await waits for a line of the application.
func (a *application) await(ctx context.Context, event string) (kcl.Event, error) {
	limit := time.NewTimer(applicationLimit)
	defer limit.Stop()
	for {
		select {
		case e := <-a.events:
			if e.Event == event {
				return e, nil
			}
		case <-a.worker.Done():
			return kcl.Event{}, fmt.Errorf("the application of the KCL has ended by itself:\n%s", a.worker.Log(4000))
		case <-limit.C:
			return kcl.Event{}, fmt.Errorf("the application of the KCL is not done after %v:\n%s", applicationLimit, a.worker.Log(4000))
		case <-ctx.Done():
			return kcl.Event{}, ctx.Err()
		}
	}
}

func (a *application) close() {
	if a.worker != nil {
		_ = a.worker.Kill()
	}
	if a.leases != nil {
		_ = a.leases.Close()
	}
}
