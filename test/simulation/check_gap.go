package simulation

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// gapPatience is how long it may take until a gap that a worker knows of is durable, told and
// stops its shard: longer than the longest pause behind a note that fails, and a lease.
const gapPatience = time.Minute

// knownGap is a gap of a shard that a process reads.
type knownGap struct {
	since time.Duration // when it became known, or a note of it failed last
	noted bool          // it is durable
	told  bool          // an error was logged
}

// met sees whether an answer tells a process of a gap: the stream refuses as too old where the
// table says that the shard was read to, or where an old shard starts that was to be read whole.
func (p *process) met(about string, e coordinator.Event) {
	var err error
	switch e := e.(type) {
	case coordinator.GetShardIteratorResult:
		err = e.Err
	case coordinator.GetRecordsResult:
		err = e.Err
	case coordinator.WriteResult:
		if of, ok := strings.CutPrefix(about, "gap, read "); ok && e.Err != nil {
			if k := p.gaps[strings.Fields(of)[0]]; k != nil {
				k.since = p.w.now
			}
		}
	}
	if !errors.Is(err, shardreader.ErrTrimmed) {
		return
	}
	w := p.w
	s := w.byID[strings.Fields(about)[1]]
	if about != p.reading(s.id) || s.row.owner != p.id || p.drained[s.id] || s.row.stopped != "" {
		return // it reads the shard no more, or the gap was reported
	}
	old := w.now-s.made >= w.plan.Shape.Retention
	if s.row.checkpoint.Kind == leases.Sequence || old && s.row.first != "" && w.plan.Shape.Start == FromOldest {
		w.knows(p, s)
	}
}

// knows notes that a process knows of a gap, and sees to it that it does what is to be done.
func (w *world) knows(p *process, s *shard) *knownGap {
	k := p.gaps[s.id]
	if k == nil {
		k = &knownGap{since: w.now}
		p.gaps[s.id] = k
		w.watchGap(p, s, k)
	}
	return k
}

func (w *world) watchGap(p *process, s *shard, k *knownGap) {
	w.at(k.since+gapPatience, func() {
		switch {
		case w.forgets(p, s, k):
		case p.paused:
			k.since = w.now
			w.watchGap(p, s, k)
		case p.resumed > k.since:
			k.since = p.resumed
			w.watchGap(p, s, k)
		case k.since+gapPatience > w.now:
			w.watchGap(p, s, k)
		default:
			if what := w.unsaid(p, s, k); what != "" {
				w.broken("a gap is durable, told, and stops its shard", "%v after %s met a gap of %v, %s", w.now-k.since, p.id, s, what)
			}
		}
	})
}

// forgets reports whether a process no longer has to report a gap.
func (w *world) forgets(p *process, s *shard, k *knownGap) bool {
	return p.dead || p.stopping || p.gaps[s.id] != k || p.drained[s.id] || s.row.owner != p.id
}

// unsaid returns the part of a gap that a process knows of and did not report; "" if there is none.
func (w *world) unsaid(p *process, s *shard, k *knownGap) string {
	switch {
	case !k.noted:
		return "it is not durable"
	case !k.told:
		return "no error is logged"
	case w.plan.Shape.OnGap != coordinator.Stop:
		return ""
	}
	for _, m := range w.snapshot().Members {
		if m.Worker == p.id && m.Stopped[s.id] != "" {
			return ""
		}
	}
	return "the row of its reader does not say that the shard stopped"
}

// untold: who knows of a gap has said so.
func (w *world) untold() *Breach {
	for _, p := range w.procs {
		for _, s := range w.shards {
			if k := p.gaps[s.id]; k != nil && !w.forgets(p, s, k) {
				if what := w.unsaid(p, s, k); what != "" {
					return &Breach{Rule: "a gap is durable, told, and stops its shard", What: p.id + " met one of " + s.String() + ", and " + what}
				}
			}
		}
	}
	return nil
}

// passes sees that nothing behind a gap is delivered before it is durable and told.
func (p *process) passes(s *shard) {
	if k := p.gaps[s.id]; k != nil && !(k.noted && k.told) {
		p.w.broken("a gap is durable, told, and stops its shard", "%s delivers records of %v behind a gap that is durable: %s, told: %s", p.id, s, yes(k.noted), yes(k.told))
	}
	delete(p.gaps, s.id)
}

// says notes what a worker logs.
func (p *process) says(a coordinator.Log) {
	if a.Level != slog.LevelError || !strings.HasPrefix(a.Message, "records were lost") {
		return
	}
	for id, k := range p.gaps {
		k.told = k.told || slices.ContainsFunc(a.Attrs, func(of slog.Attr) bool { return of.Value.String() == id })
	}
}

// forget ends what a process knows of a shard that it reads no more.
func (p *process) forget(partition string) {
	shard, _, _ := strings.Cut(partition, "~")
	delete(p.gaps, shard)
	delete(p.drained, shard)
}
