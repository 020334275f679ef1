package simulation

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// settle ends the faults and the writes, then waits for the conditions that must become true.
func (w *world) settle() {
	w.calm, w.windows = true, nil
	w.tell("calm", "faults and writes have ended")
	for _, sl := range w.slots {
		switch {
		case sl.proc == nil:
			sl.start()
		case sl.proc.stopping:
			w.whenDead(sl.proc, func() { sl.restart(0) })
		}
	}
	// A last change of each table shows that the fleet still reads the table.
	for _, t := range w.tables {
		w.after(time.Second, func() { w.write(t) })
	}
	w.after(2*time.Second, func() { w.await(w.now + w.bound()) })
}

// bound returns how long the fleet may take to settle after the faults have ended.
func (w *world) bound() time.Duration {
	s := w.plan.Shape
	return 5*time.Minute + 2*s.SyncEvery + s.ListLag + s.OpenLag + 5*s.Lease
}

// await checks repeatedly whether all conditions hold.
func (w *world) await(until time.Duration) {
	unwell := w.unwell()
	if unwell == nil {
		w.tell("calm", "all is well")
		if w.anyHalted() {
			w.tally.StoppedAtGap++
		}
		w.stop()
		return
	}
	if w.now > until {
		w.broken(unwell.Rule, "%v after faults and writes ended: %s", w.now-w.plan.Shape.End, unwell.What)
		return
	}
	w.after(time.Second, func() { w.await(until) })
}

// unwell returns a breach for the first condition that does not hold yet, or nil.
func (w *world) unwell() *Breach {
	for _, f := range []func() *Breach{w.untold, w.unstopped, w.unread, w.wrongState, w.lag, w.unended, w.unbalanced, w.piledUp} {
		if b := f(); b != nil {
			return b
		}
	}
	return nil
}

// isHalted reports whether a shard is not read further because of a gap. The gap may be in the shard itself, in an
// ancestor, in an earlier stream of the table, or before the shard's stream or an earlier stream.
func (w *world) isHalted(s *shard) bool {
	for a := s; a != nil; a = a.parent {
		if a.stopped {
			return true
		}
	}
	return slices.ContainsFunc(w.shards, func(o *shard) bool {
		isHeld := o.stream.held && o.n <= s.n
		isOfEarlierStream := o.n < s.n && o.stream != s.stream
		return o.stream.table == s.stream.table && (isHeld || o.stopped && isOfEarlierStream)
	})
}

// unstopped returns a breach if a shard stopped at a gap and its lease does not say so. Later readers need that note.
func (w *world) unstopped() *Breach {
	for _, s := range w.shards {
		isRead := s.row.there && s.row.checkpoint.Kind != leases.ShardEnd && (s.parent == nil || !w.isHalted(s.parent))
		if isRead && s.stopped && s.row.stopped == "" {
			return &Breach{Rule: "a stop is in the table", What: s.String() + " stopped at a gap, and its lease does not say so"}
		}
	}
	return nil
}

// unread returns a breach unless each record is in its sinks or in a noted gap.
func (w *world) unread() *Breach {
	for _, s := range w.shards {
		if w.isHalted(s) {
			continue
		}
		if w.advance(s); s.fine < len(s.records) {
			r := s.records[s.fine]
			return &Breach{Rule: "every record arrives or lies in a gap", What: s.String() + " #" + itoa(r.index) + ": " + r.state()}
		}
	}
	return nil
}

// wrongState returns a breach if the sink that has every change differs from the table.
func (w *world) wrongState() *Breach {
	for _, t := range w.tables {
		for _, key := range t.keys {
			r := t.items[key]
			// The sink need not have records that were lost, that cannot be decoded, or that are exempt.
			if r == nil || r.broken || r.durable != r.routes {
				continue
			}
			if held := w.sinks[states].held[r.key]; held != r {
				return &Breach{Rule: "the state is the table's", What: r.key + " is not as the table's last write made it"}
			}
		}
	}
	return nil
}

// lag returns a breach unless the lease table says that each shard is read to its last record, and no worker says that
// it is behind.
func (w *world) lag() *Breach {
	for _, s := range w.shards {
		if w.isHalted(s) || s.dropped || !s.leased && w.skipped(s) {
			continue
		}
		if what := w.lagOf(s); what != "" {
			return &Breach{Rule: "lag reaches 0", What: s.String() + what}
		}
	}
	if what := w.toldLag(); what != "" {
		return &Breach{Rule: "lag reaches 0", What: what}
	}
	return nil
}

// toldLag returns which worker says that it is behind; "" if none does.
func (w *world) toldLag() string {
	for _, sl := range w.slots {
		if sl.proc == nil {
			continue
		}
		for _, of := range sl.proc.m.Status().Partitions {
			if of.Behind && of.StopReason == "" {
				return sl.proc.id + " says that it is behind in " + w.short(of.Shard)
			}
		}
	}
	if w.anyHalted() {
		return ""
	}
	for _, m := range w.snapshot().Members {
		isBehind := len(m.Behind) > 0 || m.Pending > 0
		if p := w.live(m.ID); p != nil && isBehind {
			return p.id + " says that it is behind"
		}
	}
	return ""
}

// lagOf returns in which way a shard is not read to its last record; "" if it is.
func (w *world) lagOf(s *shard) string {
	if !s.row.there {
		if s.closed {
			return ""
		}
		return " is open and has no lease"
	}
	if s.closed && s.row.checkpoint.Kind != leases.ShardEnd {
		return " has ended and its checkpoint is " + s.row.checkpoint.String()
	}
	if n := len(s.records); n > 0 {
		last := s.records[n-1]
		if !s.row.covers(last) && !last.exempt && !last.noted {
			return " has " + itoa(n) + " records and its checkpoint is " + s.row.checkpoint.String()
		}
	}
	if !s.closed && w.live(s.row.owner) == nil {
		return " is open and nobody who lives owns it"
	}
	return ""
}

// skipped reports whether a closed shard ended before the fleet's start position.
func (w *world) skipped(s *shard) bool {
	return s.closed && slices.IndexFunc(s.records, func(r *streamRecord) bool { return !r.exempt }) < 0
}

func (w *world) anyHalted() bool { return slices.ContainsFunc(w.shards, w.isHalted) }

// live returns the live process with a name, or nil.
func (w *world) live(id string) *process {
	for _, p := range w.procs {
		if p.id == id && !p.dead {
			return p
		}
	}
	return nil
}

// unbalanced returns a breach unless a consumer lives and the shards are shared evenly.
func (w *world) unbalanced() *Breach {
	var alive []*process
	for _, sl := range w.slots {
		if sl.proc != nil {
			alive = append(alive, sl.proc)
		}
	}
	if len(alive) == 0 {
		return &Breach{Rule: "leases are balanced", What: "nobody lives"}
	}
	if w.anyHalted() {
		return nil // the leases after a gap that stops its shard are not taken, so the shares vary
	}
	total, owned := 0, map[string]int{} // by consumer id
	for _, s := range w.shards {
		if s.row.there && s.row.checkpoint.Kind != leases.ShardEnd {
			total++
			owned[s.row.owner]++
		}
	}
	least, most := total/len(alive)-1, (total+len(alive)-1)/len(alive)+1
	for _, p := range alive {
		if n := owned[p.id]; n < least || n > most {
			what := p.id + " owns " + itoa(n) + " of " + itoa(total) + " leases among " + itoa(len(alive))
			return &Breach{Rule: "leases are balanced", What: what}
		}
	}
	return nil
}

// childrenOf returns the children of a shard, and the descendants that its ended lease names as children.
func (w *world) childrenOf(s *shard) []*shard {
	children := slices.Clone(s.children)
	for _, id := range s.row.children {
		children = append(children, w.byID[id])
	}
	return children
}

// piledUp returns a breach if the lease of an ended shard remains although nobody needs it any more.
func (w *world) piledUp() *Breach {
	for _, s := range w.shards {
		if !s.row.there || s.row.checkpoint.Kind != leases.ShardEnd || w.isHalted(s) {
			continue
		}
		isUnbegun := func(c *shard) bool { return c.row.there && c.row.checkpoint.Kind == leases.TrimHorizon }
		isUnneeded := !slices.ContainsFunc(w.childrenOf(s), isUnbegun)
		if len(s.children) == 0 {
			isUnneeded = s.dropped
		}
		if isUnneeded {
			return &Breach{Rule: "ended leases go", What: "that of " + s.String() + " is there still, listed: " + yes(!s.dropped)}
		}
	}
	return nil
}

// stop stops all workers and checks that nothing of them remains.
func (w *world) stop() {
	var running []*process
	for _, sl := range w.slots {
		sl.retired = true
		if sl.proc != nil {
			running = append(running, sl.proc)
		}
	}
	left := len(running)
	done := func() {
		left--
		if left == 0 {
			w.end()
		}
	}
	if w.plan.Shape.Rolling {
		w.stopInTurn(running, done)
		return
	}
	for _, p := range running {
		p.terminate(done)
	}
}

// stopInTurn stops processes, one after the other, and calls done after each.
func (w *world) stopInTurn(processes []*process, done func()) {
	if len(processes) == 0 || w.over {
		return
	}
	processes[0].terminate(func() {
		done()
		w.stopInTurn(processes[1:], done)
	})
}

// stoppedCleanly checks the claim of a worker that it has released everything.
func (p *process) stoppedCleanly() {
	w := p.w
	if !p.stopping {
		w.broken("who is not told to stop continues", "%s stopped by itself", p.id)
	}
	w.tally.StoppedCleanly++
	for _, s := range w.shards {
		// A consumer without contact to the table can release nothing. It also writes nothing.
		if s.row.there && s.row.owner == p.id && w.now-p.heard < w.plan.Shape.Lease/2 {
			w.broken("who stopped owns nothing", "%s stopped, and owns %v", p.id, s)
		}
	}
	p.checkLedgers()
	p.clean = w.calm
	p.end()
}

// checkLedgers checks that a routed change was written, was revoked, or is pending.
func (p *process) checkLedgers() {
	for i, l := range p.pipe.ledgers {
		waits := 0
		for _, q := range p.pipe.lanes {
			if q.sink == i {
				waits += len(q.waiting)
			}
		}
		if l.routed != l.done+l.revoked+l.pending || l.pending != waits {
			p.w.broken("ledgers balance", "%s, sink %d: %+v, and %d wait", p.id, i, l, waits)
		}
	}
}

// end checks the state after all workers have stopped.
func (w *world) end() {
	snapshot := w.snapshot()
	for _, l := range snapshot.Leases {
		s := w.byID[l.Shard]
		isKnown := s != nil && s.row.there &&
			s.row.owner == l.Owner && s.row.counter == l.Counter && s.row.checkpoint == l.Checkpoint
		if !isKnown {
			w.broken("the checks know the table", "the lease of %s is not what they think", l.Shard)
			return
		}
		ownerHasStopped := slices.ContainsFunc(w.procs, func(p *process) bool { return p.id == l.Owner && p.clean })
		if ownerHasStopped && !l.Ended() {
			w.broken("who stopped owns nothing", "%v is owned by %s", s, l.Owner)
			return
		}
	}
	if b := w.unread(); b != nil {
		w.broken(b.Rule, "%s", b.What)
		return
	}
	w.tell("calm", "all have stopped")
	w.over = true
}
