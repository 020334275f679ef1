package simulation

import (
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// idler reports whether a process must end when all is read.
func (p *process) idler() bool { return p.slot.n < p.w.plan.Shape.Idlers }

// saysEnd is a worker's word that all is read. Its process is stopped then, as the command is. While the world is not
// calm yet, others come after it, and some continue.
func (p *process) saysEnd(a coordinator.AtEnd) {
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

// checkEnd: who says that all is read has nothing of a shard before it that is not checkpointed.
func (w *world) checkEnd(p *process, s *shard, asked time.Duration, stopped map[string]string) {
	for _, r := range s.records[min(s.fine, len(s.records)):] {
		if r.at >= asked {
			break
		}
		if r.exempt || r.noted || s.row.covers(r) || !s.row.there && r.durable == r.routes || w.given(s) && len(stopped) > 0 {
			continue
		}
		w.broken("the end is where all is read", "%s says that all before %s is read and checkpointed, and %v #%d of %s is not (%s, its lease at %v)",
			p.id, clock(asked), s, r.index, clock(r.at), r.state(), s.row.checkpoint)
		return
	}
}

// unended: a process that waits for the end is notified when it has come.
func (w *world) unended() *Breach {
	for _, sl := range w.slots {
		if p := sl.proc; p != nil && p.idler() && p.ended < w.plan.Shape.End+time.Second {
			return &Breach{Rule: "the end is told", What: p.id + " does not say that all is read: " + p.m.Status().UnreadReason}
		}
	}
	return nil
}
