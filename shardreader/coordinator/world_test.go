package coordinator_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// world is a fleet of workers over a stream and a lease table in memory, in a
// bubble of testing/synctest: calls are answered at once, and time passes when
// nothing is left to do.
type world struct {
	t       *testing.T
	api     shardreader.API
	server  *streamtest.Server
	table   *leasestest.Table
	workers []*node
	gaps    []record.Gap
	damaged string               // shard whose row cannot be read
	slow    time.Duration        // how long Reserve takes
	lose    func(op string) bool // whether the answer of the table is lost. Default: never
	read    map[string][]string  // by shard: sequence numbers that were acknowledged, in order
	story   strings.Builder
}

// node is one worker with a pipeline that acknowledges at once, or on request.
type node struct {
	*world
	id      string
	w       *coordinator.Coordinator
	began   time.Time
	events  []coordinator.Event
	queue   []*pipeline.Page // delivered, not taken
	held    []*pipeline.Page // taken, not acknowledged
	holding bool             // pages are held
	deaf    bool             // the table does not answer
	dead    bool             // crashed
	stopped bool
	told    []string
	atEnd   *coordinator.AtEnd // the last one
	calls   map[string]int
	keep    func(coordinator.Action) bool // whether an action is not done. Default: never
}

func newWorld(t *testing.T) *world {
	server := streamtest.New(streamtest.Options{})
	return &world{t: t, api: server, server: server, table: leasestest.NewTable(), read: make(map[string][]string)}
}

// start adds a worker.
func (wo *world) start(id string, o coordinator.Options) *node {
	wo.t.Helper()
	o.ID = id
	if o.Sources == nil {
		o.Sources = []coordinator.Source{{Table: "shop"}}
	}
	o.Rand = rand.New(rand.NewPCG(1, uint64(len(wo.workers))))
	c, err := coordinator.New(o)
	if err != nil {
		wo.t.Fatal(err)
	}
	n := &node{world: wo, id: id, w: c, began: time.Now(), calls: make(map[string]int)}
	wo.workers = append(wo.workers, n)
	n.send(coordinator.Tick{})
	return n
}

func (n *node) send(e coordinator.Event) { n.events = append(n.events, e) }

// run lets time pass.
func (wo *world) run(d time.Duration) {
	wo.t.Helper()
	end := time.Now().Add(d)
	for steps := 0; ; steps++ {
		if steps > 1_000_000 {
			wo.t.Fatal("the world does not come to rest")
		}
		busy := false
		for _, n := range wo.workers {
			busy = n.step() || busy
		}
		if busy {
			continue
		}
		next := end
		for _, n := range wo.workers {
			if at := n.began.Add(n.w.Wake()); !n.dead && at.Before(next) {
				next = at
			}
		}
		time.Sleep(max(time.Millisecond, time.Until(next)))
		if !time.Now().Before(end) {
			return
		}
		for _, n := range wo.workers {
			if !n.dead && !n.began.Add(n.w.Wake()).After(time.Now()) {
				n.send(coordinator.Tick{})
			}
		}
	}
}

// step handles one event; false where none waits.
func (n *node) step() bool {
	if n.dead {
		n.events = nil
		return false
	}
	n.take()
	if len(n.events) == 0 {
		return false
	}
	e := n.events[0]
	n.events[0] = nil
	n.events = n.events[1:]
	for _, a := range n.w.Step(time.Since(n.began), e) {
		n.act(a)
	}
	return true
}

// take is the pipeline: it takes pages and acknowledges them.
func (n *node) take() {
	for _, page := range n.queue {
		n.send(coordinator.PageTaken{Partition: page.Partition})
		n.held = append(n.held, page)
	}
	n.queue = nil
	if n.holding {
		return
	}
	for _, page := range n.held {
		shard, _, _ := strings.Cut(page.Partition, "~")
		for _, change := range page.Changes {
			n.read[shard] = append(n.read[shard], strings.Clone(change.Sequence))
		}
		n.send(coordinator.Acked{Partition: page.Partition, Position: page.Position})
	}
	n.held = nil
}

func (n *node) act(a coordinator.Action) {
	if n.keep != nil && n.keep(a) {
		return
	}
	ctx := n.t.Context()
	name := strings.TrimPrefix(fmt.Sprintf("%T", a), "coordinator.")
	n.calls[name]++
	switch a := a.(type) {
	case coordinator.ListStreams:
		page, err := n.api.ListStreams(ctx, a.Table, a.After)
		n.send(coordinator.ListStreamsResult{Call: a.Call, Page: page, Err: err})
	case coordinator.DescribeStream:
		d, err := n.api.DescribeStream(ctx, a.Query)
		n.send(coordinator.DescribeStreamResult{Call: a.Call, Description: d, Err: err})
	case coordinator.GetShardIterator:
		it, err := n.api.GetShardIterator(ctx, a.At)
		n.send(coordinator.GetShardIteratorResult{Call: a.Call, Iterator: it, Err: err, WallTime: time.Now()})
	case coordinator.GetRecords:
		got, err := n.api.GetRecords(ctx, a.Query)
		n.send(coordinator.GetRecordsResult{Call: a.Call, Records: got, Err: err, WallTime: time.Now()})
	case coordinator.ReadTable:
		s, err := n.table.Read(ctx)
		s.Leases = slices.DeleteFunc(s.Leases, func(l leases.Lease) bool {
			if l.Shard != n.damaged {
				return false
			}
			s.DamagedLeases = append(s.DamagedLeases, leases.DamagedLease{Shard: l.Shard, Reason: "checkpoint is not a number"})
			return true
		})
		n.send(coordinator.ReadTableResult{Call: a.Call, Snapshot: s, Err: n.lost(err)})
	case coordinator.CreateLease:
		n.done(a.Call, n.answer(name, n.table.Create(ctx, a.Lease)))
	case coordinator.SwapLease:
		n.done(a.Call, n.answer(name, n.table.Swap(ctx, a.Old, a.Next)))
	case coordinator.DeleteLease:
		n.done(a.Call, n.table.Delete(ctx, a.Old))
	case coordinator.WriteHeartbeat:
		if n.deaf {
			n.done(a.Call, leasestest.Throttled())
			return
		}
		n.done(a.Call, n.table.Heartbeat(ctx, a.Member))
	case coordinator.RemoveMember:
		n.done(a.Call, n.table.RemoveMember(ctx, a.Consumer))
	case coordinator.MarkBegun:
		n.done(a.Call, n.table.MarkBegun(ctx, a.Stream))
	case coordinator.ReserveCall:
		time.Sleep(n.slow)
		count, ok, err := n.table.ReserveCall(ctx, a.Quota, a.Seen)
		n.send(coordinator.ReserveCallResult{Call: a.Call, Count: count, OK: ok, Err: err})
	case coordinator.NoteGap:
		n.gaps = append(n.gaps, a.Gap)
		n.done(a.Call, nil)
	case coordinator.Deliver:
		n.queue = append(n.queue, a.Page)
	case coordinator.Drop:
		n.queue = without(n.queue, a.Partition)
	case coordinator.Revoke:
		n.queue, n.held = without(n.queue, a.Partition), without(n.held, a.Partition)
	case coordinator.Log:
		n.told = append(n.told, a.Message)
		fmt.Fprintf(&n.story, "%s %s %s: %s %v\n", time.Since(n.began), n.id, a.Level, a.Message, a.Attrs)
		if a.Level > slog.LevelWarn {
			n.t.Logf("%s: %s %v", n.id, a.Message, a.Attrs)
		}
	case coordinator.AtEnd:
		n.atEnd = &a
	case coordinator.Stopped:
		n.stopped = true
	}
}

func without(pages []*pipeline.Page, partition string) []*pipeline.Page {
	return slices.DeleteFunc(pages, func(p *pipeline.Page) bool { return p.Partition == partition })
}

func (n *node) done(call coordinator.Call, err error) {
	n.send(coordinator.WriteResult{Call: call, Err: n.lost(err)})
}

// lost returns err, or the error of a lost answer if the table can no longer be reached.
func (n *node) lost(err error) error {
	if n.deaf {
		return leasestest.Lost()
	}
	return err
}

// answer returns err, or the error of a lost answer if the answer of the write is lost.
func (n *node) answer(op string, err error) error {
	if n.lose != nil && n.lose(op) {
		return leasestest.Lost()
	}
	return err
}

// leases returns the leases of the table by shard.
func (wo *world) leases() map[string]leases.Lease {
	wo.t.Helper()
	s, err := wo.table.Read(wo.t.Context())
	if err != nil {
		wo.t.Fatal(err)
	}
	ls := make(map[string]leases.Lease)
	for _, l := range s.Leases {
		ls[l.Shard] = l
	}
	return ls
}

// reset sets a lease free at another checkpoint, as is done by hand.
func (wo *world) reset(shard string, to leases.Checkpoint) {
	wo.t.Helper()
	now := wo.leases()[shard]
	next := now
	next.Owner, next.Counter, next.Checkpoint, next.First, next.Stopped = "", now.Counter+1, to, "", ""
	if err := wo.table.Swap(wo.t.Context(), now, next); err != nil {
		wo.t.Fatal(err)
	}
}

// owned counts the leases that a worker reads.
func (wo *world) owned(id string) int {
	n := 0
	for _, l := range wo.leases() {
		if l.Owner == id && !l.Ended() {
			n++
		}
	}
	return n
}

// readAll holds what was acknowledged of a shard against what was put.
func (wo *world) readAll(shard string, want ...string) {
	wo.t.Helper()
	if got := wo.read[shard]; !slices.Equal(got, want) {
		wo.t.Errorf("of shard %s %d records were read, want %d: %v, want %v\n%s", shard, len(got), len(want), got, want, wo.story.String())
	}
}

func put(n int) []streamtest.Record {
	var rs []streamtest.Record
	for i := range n {
		key := fmt.Sprintf(`{"PK":{"S":"k%d"}}`, i)
		rs = append(rs, streamtest.Record{Keys: key, New: key})
	}
	return rs
}
