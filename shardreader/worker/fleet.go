package worker

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// peer is a consumer, as the last refresh found it.
type peer struct {
	leases.Member
	since time.Duration // when this heartbeat of it was first seen
}

// alive reports whether a consumer counts as alive. Another consumer counts as gone once refreshes found its heartbeat
// unchanged for longer than Options.Lease.
func (w *Worker) alive(worker string) bool {
	if worker == w.o.Worker {
		return w.heartbeatFresh()
	}
	p := w.peers[worker]
	return p != nil && w.sent-p.since <= w.o.Lease
}

// heartbeatFresh reports whether this consumer still counts as alive for all others.
func (w *Worker) heartbeatFresh() bool {
	return w.heartbeatOnce && w.now-w.heartbeatSent <= w.o.Lease*2/3
}

// live are the consumers that take leases, by consumer id.
func (w *Worker) live() []string {
	var live []string
	if w.heartbeatFresh() && !w.leaving {
		live = append(live, w.o.Worker)
	}
	for id, p := range w.peers {
		if id != w.o.Worker && !p.Leaving && w.alive(id) {
			live = append(live, id)
		}
	}
	slices.Sort(live)
	return live
}

// leads reports whether this consumer is the one that lists the streams.
func (w *Worker) leads() bool {
	live := w.live()
	return w.seenOnce && len(live) > 0 && live[0] == w.o.Worker
}

// refreshLeases reads the table, now or as soon as the refresh in flight is over.
func (w *Worker) refreshLeases() {
	w.refreshAlarm.set++
	if w.refreshing || w.stopped {
		return
	}
	w.refreshing = true
	w.do(ReadTable{w.begin(refresh{w.now, w.refreshAlarm.set})})
}

// refresh is a call that reads the table.
type refresh struct {
	sent time.Duration
	no   int // Worker.refreshAlarm.set
}

func (op refresh) answered(w *Worker, e Seen) {
	w.refreshing, w.refreshFailed = false, e.Err != nil
	next := w.refreshEvery()
	if e.Err != nil {
		w.table.err = e.Err
		w.tellOnce("look", slog.LevelWarn, "the lease table cannot be read", errAttr(e.Err))
		after, _ := pipeline.Retryable(e.Err)
		next = max(next, after)
	} else {
		delete(w.told, "look")
		w.seen(op.sent, e.Snapshot)
	}
	if len(w.awaited) > 0 && e.Err == nil {
		w.refreshLeases() // for what was requested while this one was in flight
		return
	}
	if w.refreshAlarm.set > op.no {
		next = min(next, w.o.ReadEvery/4)
	}
	w.refreshAlarm.in(w, w.jitter(next), w.refreshLeases)
}

// awaited waits for a refresh.
type awaited struct {
	since time.Duration
	by    interface{ refreshed(w *Worker) }
}

// afterRefresh calls by.refreshed once a refresh that begins now or later succeeded.
func (w *Worker) afterRefresh(by interface{ refreshed(w *Worker) }) {
	w.awaited = append(w.awaited, awaited{w.now, by})
	w.refreshLeases()
}

// refreshEvery is the time between two refreshes: longer if there is much to read.
func (w *Worker) refreshEvery() time.Duration {
	return max(w.o.ReadEvery, min(10*time.Second, time.Duration(w.rows.len())*time.Millisecond))
}

// seen handles the answer to a read of the table; sent is when that was sent.
func (w *Worker) seen(sent time.Duration, s leases.Snapshot) {
	if !w.seenOnce {
		w.firstSeen = w.now
	}
	w.sent, w.seenOnce = sent, true
	w.seePeers(s.Members)
	w.seeBroken(s.Broken)
	for _, stream := range s.Begun {
		w.begunStreams[stream] = true
	}
	w.seeLeases(sent, s.Leases)
	if w.leaving {
		w.letAllGo()
		return
	}
	all := w.awaited
	w.awaited = nil
	for _, a := range all {
		if sent < a.since {
			w.awaited = append(w.awaited, a)
			continue
		}
		a.by.refreshed(w)
	}
	w.foreigners()
	w.openMine()
	w.handOver()
	w.refreshLoad()
	w.balance()
	if w.leads() {
		w.lead()
	}
	w.checkEnd()
}

// lead does what one consumer does for the whole fleet.
func (w *Worker) lead() {
	w.forgetDead()
	childless := 0
	for _, r := range w.rows.all() {
		if r.Ended() && len(r.Children) == 0 {
			childless++
		}
	}
	switch {
	case !w.synced:
		w.beginSync()
	case childless > w.childless:
		w.syncSoon() // a stream may have come to its end
	}
	w.childless = childless
}

func (w *Worker) seePeers(members []leases.Member) {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		seen[m.Worker] = true
		p := w.peers[m.Worker]
		if p == nil || p.Heartbeat != m.Heartbeat {
			p = &peer{since: w.now}
			w.peers[m.Worker] = p
		}
		p.Member = m
		delete(w.left, m.Worker)
	}
	for id := range w.peers {
		if !seen[id] {
			delete(w.peers, id)
			w.left[id] = true
		}
	}
}

// seeLeases updates the leases, except those that this consumer wrote after the read was sent: these rows are newer.
func (w *Worker) seeLeases(sent time.Duration, ls []leases.Lease) {
	byShard := func(l leases.Lease, shard string) int { return cmp.Compare(l.Shard, shard) }
	for _, r := range w.rows.all() {
		if _, there := slices.BinarySearchFunc(ls, r.Shard, byShard); !there && !r.busy && sent >= r.writtenAt {
			w.forget(r)
		}
	}
	for _, l := range ls {
		switch r := w.rows.of(l.Shard); {
		case r == nil && !w.creating[l.Shard]:
			w.know(l).knownAt = sent
		case r != nil && !r.busy && sent >= r.writtenAt:
			w.learn(r, l, sent)
		}
	}
}

// seeBroken notes the damaged rows. No consumer reads their shards, nor their descendants, until the rows are repaired.
func (w *Worker) seeBroken(rows []leases.Broken) {
	broken := make(map[string]bool, len(rows))
	for _, b := range rows {
		broken[b.Shard] = true
		w.tellOnce("broken "+b.Shard, slog.LevelError, "a row of the lease table cannot be read: its shard and those after it wait until it is repaired",
			shardAttr(b.Shard), slog.String("why", b.Why))
	}
	for shard := range w.broken {
		if !broken[shard] {
			delete(w.told, "broken "+shard)
		}
	}
	w.broken = broken
}

// know adds a lease.
func (w *Worker) know(l leases.Lease) *row {
	r := &row{Lease: l, unchangedSince: w.now}
	if _, waits := w.unbegun[l.Shard]; waits {
		delete(w.unbegun, l.Shard)
		w.syncSoon() // an operator may have made it: leaseSync makes the others of its stream
	}
	w.rows.add(r)
	return r
}

// learn updates a lease; at is when it was like that. A lease that changed its owner or counter is lost.
func (w *Worker) learn(r *row, l leases.Lease, at time.Duration) {
	r.knownAt = at
	changed := r.Owner != l.Owner || r.Counter != l.Counter
	if changed {
		r.unchangedSince = w.now
	}
	w.rows.change(r, l)
	if changed && r.assignment != nil {
		w.lose(r.assignment)
	}
}

// forget removes a lease that is gone.
func (w *Worker) forget(r *row) {
	if r.assignment != nil {
		w.lose(r.assignment)
	}
	w.rows.remove(r)
}

// forgetDead removes the rows of consumers that are long gone and own nothing.
func (w *Worker) forgetDead() {
	owners := make(map[string]bool)
	for _, r := range w.rows.all() {
		owners[r.Owner] = true
	}
	var dead []string
	for id, p := range w.peers {
		if id != w.o.Worker && !owners[id] && w.sent-p.since > 10*w.o.Lease {
			dead = append(dead, id)
		}
	}
	slices.Sort(dead)
	for _, id := range dead {
		p := w.peers[id]
		p.since = w.now // it is not removed again soon
		w.do(Leave{w.begin(nil), id})
	}
}

func errAttr(err error) slog.Attr { return slog.String("error", redact.LogText(err)) }
