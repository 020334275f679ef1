package backfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/test/e2e/link"
)

// process is a consumer or a backfill.
type process struct {
	link *link.Link
	soft context.CancelFunc // begins a soft stop
	hard context.CancelFunc // ends the process at once
	done chan struct{}      // closed when the process has ended, including its cleanup
	err  error
	l    pipeline.Ledger
}

// run runs a process until its source ends, or until the process is stopped or killed. closeSource closes the source.
func (w *world) run(t *testing.T, of *link.Link, p *pipeline.Pipeline, src pipeline.Source, c pipeline.Committer, closeSource func(context.Context) error) *process {
	soft, endSoft := context.WithCancel(t.Context())
	hard, endHard := context.WithCancel(context.Background())
	r := &process{link: of, soft: endSoft, hard: endHard, done: make(chan struct{})}
	release := context.AfterFunc(hard, func() { p.Stop(hard) })
	go func() {
		defer close(r.done)
		defer release()
		defer endSoft()
		err := p.Run(soft, src, c)
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		r.err, r.l = errors.Join(err, closeSource(closing)), p.Ledger()
	}()
	w.processes = append(w.processes, r)
	return r
}

// kill ends a process at once, unless it has ended. Its last requests arrive later.
func (p *process) kill() {
	if p.hasEnded() {
		return
	}
	p.link.Sever()
	p.soft()
	p.hard()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends a process softly.
func (p *process) stop(t *testing.T, within time.Duration) {
	t.Helper()
	p.soft()
	p.ends(t, within)
}

// ends waits until a process ends. It must end without an error.
func (p *process) ends(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		t.Fatalf("a process has not ended after %v", within)
	}
	if p.err != nil {
		t.Fatal(p.err)
	}
	if err := p.l.Check(); err != nil {
		t.Error(err)
	}
}

// lease is how long a consumer may be silent, and how long the claim on a part of a backfill may stay unchanged.
const lease = 3 * time.Second

// consume starts a consumer with the sinks of a configuration.
func (w *world) consume(t *testing.T, cfg *config.Config) *process {
	t.Helper()
	w.started++
	name := fmt.Sprintf("consumer-%d", w.started)
	of := &link.Link{}
	stores := &link.Stores{Stores: w.stores, Link: of}
	kept, err := stores.State(t.Context(), cfg)
	check(t, err)
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Live(), sinks.WithLogger(w.log))
	check(t, err)
	c, err := consumer.New(consumer.Options{
		API: w.server.As(name), Table: &link.Leases{Memory: w.leases, Link: of}, Gaps: kept, Logger: w.log,
		Coordinator: coordinator.Options{
			Name: name, Routes: sinks.RoutesDigest(cfg), Sources: []coordinator.Source{{Table: "shop"}}, Lease: lease, MaxIdle: 100 * time.Millisecond,
		},
	})
	check(t, err)
	return w.run(t, of, p, c, c, c.Close)
}

// fill starts a process of the backfill.
func (w *world) fill(t *testing.T) *process {
	t.Helper()
	w.started++
	of := &link.Link{}
	stores := &link.Stores{Stores: w.stores, Link: of}
	kept, err := stores.State(t.Context(), w.cfg)
	check(t, err)
	p, err := sinks.Assemble(t.Context(), w.cfg, stores, sinks.Backfill(sinks.BackfillOptions{Sinks: names(w.cfg)}), sinks.WithLogger(w.log))
	check(t, err)
	src, err := snapshot.NewSource(snapshot.SourceOptions{
		Snapshot: w.snapshot, Backfills: kept, Run: runID, Owner: fmt.Sprintf("backfill-%d", w.started), Concurrency: 3, ClaimTime: lease, Throttle: w.pace.wait, Logger: w.log,
	})
	check(t, err)
	return w.run(t, of, p, src, src, src.Close)
}

// deliverLate delivers the first changes of each shard once more, as a redrive of abandoned batches does.
func (w *world) deliverLate(t *testing.T) {
	t.Helper()
	pages := w.readStream(t, w.late)
	p, err := sinks.Assemble(t.Context(), w.cfg, w.stores, sinks.WithLogger(w.log))
	check(t, err)
	n := 0
	source := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if len(pages) == 0 {
			return nil, io.EOF
		}
		page := pages[0]
		pages = pages[1:]
		n += len(page.Changes)
		return page, nil
	})
	check(t, p.Run(t.Context(), source, nil))
	left := p.Ledger().Sinks["by_status"].NoEffect[sinks.ReasonBeforeFloor]
	if n == 0 || !w.rules.noFloor && left != int64(n) {
		t.Errorf("%d changes of before the floor are delivered again, and %d are left out", n, left)
	}
}

// readStream reads all records of the shards. If counts is not nil, it reads only the first counts[i] records of each
// shard i.
func (w *world) readStream(t *testing.T, counts map[string]int) (pages []*pipeline.Page) {
	t.Helper()
	arn := w.stream.ARN()
	for _, shard := range w.stream.Shards() {
		iterator, err := w.server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon})
		check(t, err)
		left := counts[shard]
		for n := 1; iterator != "" && (counts == nil || left > 0); n++ {
			r, err := w.server.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: iterator, StreamARN: arn, Shard: shard})
			check(t, err)
			if len(r.Page.Changes) == 0 {
				break
			}
			if iterator = r.NextIterator; counts != nil {
				r.Page.Changes = r.Page.Changes[:min(left, len(r.Page.Changes))]
				left -= len(r.Page.Changes)
			}
			pages = append(pages, &pipeline.Page{Page: *r.Page, Partition: shard, Position: pipeline.Position(fmt.Sprint(n))})
		}
	}
	return pages
}
