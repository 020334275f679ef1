package simulation

import (
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// idler reports whether the worker of a process must report when everything is read.
func (p *process) idler() bool { return p.slot.n < p.w.plan.Shape.Idlers }

// checkAtEnd checks a worker's report that everything is read. The command ends after such a report. So until the faults
// have ended, checkAtEnd stops some of the processes that report it, and later starts others in their slots. The other
// processes continue.
func (p *process) checkAtEnd(a coordinator.AtEnd) {
	w := p.w
	asked := p.born + time.Duration(float64(a.ReadUpTo-p.offset)/p.rate)
	p.ended = asked
	w.tally.AtEnd++
	if len(a.Stopped) > 0 {
		w.tally.AtEndStopped++
	}
	for _, s := range w.shards {
		if s.row.there && s.row.checkpoint.Kind != leases.ShardEnd && s.row.owner != p.id {
			w.tally.AtEndOfOthers++
			break
		}
	}
	for _, s := range w.shards {
		w.checkEnd(p, s, asked, a.Stopped)
	}
	if !w.calm && !w.over && !p.stopping && w.chance(0.5) {
		w.after(0, func() { p.terminate(func() { p.slot.restart(w.between(0, 20*time.Second)) }) })
	}
}

// checkEnd checks one shard for a worker's report that everything from before asked is read. All records of the shard
// from before asked must be checkpointed or need no checkpoint. stopped has the shards that, according to the report,
// stopped at a gap.
func (w *world) checkEnd(p *process, s *shard, asked time.Duration, stopped map[string]string) {
	for _, r := range s.records[min(s.fine, len(s.records)):] {
		if r.at >= asked {
			break
		}
		needsNoCheckpoint := r.exempt || r.noted || !s.row.there && r.durable == r.routes
		if needsNoCheckpoint || s.row.covers(r) || len(stopped) > 0 && w.isHalted(s) {
			continue
		}
		w.broken("the end is where all is read", "%s says that all before %s is read and checkpointed, and %v #%d of %s is not (%s, its lease at %v)",
			p.id, clock(asked), s, r.index, clock(r.at), r.state(), s.row.checkpoint)
		return
	}
}

// unended returns a breach if an idler has not reported, after faults and writes ended, that everything is read.
func (w *world) unended() *Breach {
	for _, sl := range w.slots {
		if p := sl.proc; p != nil && p.idler() && p.ended < w.plan.Shape.End+time.Second {
			return &Breach{Rule: "the end is told", What: p.id + " does not say that all is read: " + p.m.Status().UnreadReason}
		}
	}
	return nil
}
