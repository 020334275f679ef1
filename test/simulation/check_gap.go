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

// gapPatience is the maximum time after a worker learns of a gap until the gap is durable and logged, and stops its
// shard. It is longer than a lease plus the longest pause after a failed note.
const gapPatience = time.Minute

// knownGap is a gap of a shard that a process reads.
type knownGap struct {
	since time.Duration // when it became known, or when a note of it last failed
	noted bool          // it is durable
	told  bool          // an error was logged
}

// noteAnswer notes a gap that an answer reveals to a process. Such an answer refuses a position as trimmed. The
// position is the checkpoint of the shard in the table, or the start of an old shard that must be read completely. If a
// note of the gap fails, gapPatience begins again.
func (p *process) noteAnswer(about string, e coordinator.Event) {
	switch e := e.(type) {
	case coordinator.GetShardIteratorResult:
		p.noteRefusal(about, e.Err)
	case coordinator.GetRecordsResult:
		p.noteRefusal(about, e.Err)
	case coordinator.WriteResult:
		of, isNote := strings.CutPrefix(about, "gap, read ")
		if !isNote || e.Err == nil {
			return
		}
		shard := strings.Fields(of)[0]
		if k := p.gaps[shard]; k != nil {
			k.since = p.w.now
		}
	}
}

// noteRefusal notes a gap if err, the error of a call that reads a shard, refuses a position as trimmed.
func (p *process) noteRefusal(about string, err error) {
	if !errors.Is(err, shardreader.ErrTrimmed) {
		return
	}
	w := p.w
	s := w.byID[strings.Fields(about)[1]]
	reads := about == p.reading(s.id) && s.row.owner == p.id && !p.drained[s.id]
	isReported := s.row.stopped != ""
	if !reads || isReported {
		return
	}
	isOld := w.now-s.made >= w.plan.Shape.Retention
	isReadFromStart := s.row.first != "" && w.plan.Shape.Start == FromOldest
	if s.row.checkpoint.Kind == leases.Sequence || isOld && isReadFromStart {
		w.noteKnown(p, s)
	}
}

// noteKnown notes that a process knows of a gap, and checks later that the process reports it.
func (w *world) noteKnown(p *process, s *shard) *knownGap {
	k := p.gaps[s.id]
	if k == nil {
		k = &knownGap{since: w.now}
		p.gaps[s.id] = k
		w.watchGap(p, s, k)
	}
	return k
}

// watchGap checks at the end of gapPatience whether a process has reported a gap. A pause of the process begins
// gapPatience again.
func (w *world) watchGap(p *process, s *shard, k *knownGap) {
	w.at(k.since+gapPatience, func() {
		switch {
		case w.isExcused(p, s, k):
			return
		case p.paused:
			k.since = w.now
		case p.resumed > k.since:
			k.since = p.resumed
		}
		if k.since+gapPatience > w.now {
			w.watchGap(p, s, k)
			return
		}
		if what := w.missingReport(p, s, k); what != "" {
			w.broken("a gap is durable, told, and stops its shard", "%v after %s met a gap of %v, %s",
				w.now-k.since, p.id, s, what)
		}
	})
}

// isExcused reports whether a process no longer has to report a gap.
func (w *world) isExcused(p *process, s *shard, k *knownGap) bool {
	return p.dead || p.stopping || p.gaps[s.id] != k || p.drained[s.id] || s.row.owner != p.id
}

// missingReport returns what a process has not done yet about a gap that it knows of; "" if it has done everything.
func (w *world) missingReport(p *process, s *shard, k *knownGap) string {
	switch {
	case !k.noted:
		return "it is not durable"
	case !k.told:
		return "no error is logged"
	case w.plan.Shape.OnGap != coordinator.Stop:
		return ""
	}
	for _, m := range w.snapshot().Members {
		if m.ID == p.id && m.Stopped[s.id] != "" {
			return ""
		}
	}
	return "the row of its reader does not say that the shard stopped"
}

// untold returns a breach if a process knows of a gap and has not reported it.
func (w *world) untold() *Breach {
	for _, p := range w.procs {
		for _, s := range w.shards {
			if k := p.gaps[s.id]; k != nil && !w.isExcused(p, s, k) {
				if what := w.missingReport(p, s, k); what != "" {
					return &Breach{Rule: "a gap is durable, told, and stops its shard", What: p.id + " met one of " + s.String() + ", and " + what}
				}
			}
		}
	}
	return nil
}

// checkPassed checks that no record after a gap is delivered before the gap is durable and logged.
func (p *process) checkPassed(s *shard) {
	if k := p.gaps[s.id]; k != nil && !(k.noted && k.told) {
		p.w.broken("a gap is durable, told, and stops its shard", "%s delivers records of %v behind a gap that is durable: %s, told: %s", p.id, s, yes(k.noted), yes(k.told))
	}
	delete(p.gaps, s.id)
}

// noteLog handles a log message of a worker. The error "records were lost" marks the gaps that it names as told.
func (p *process) noteLog(a coordinator.Log) {
	if a.Level != slog.LevelError || !strings.HasPrefix(a.Message, "records were lost") {
		return
	}
	for id, k := range p.gaps {
		k.told = k.told || slices.ContainsFunc(a.Attrs, func(of slog.Attr) bool { return of.Value.String() == id })
	}
}

// forget removes the known gaps of a shard that the process no longer reads.
func (p *process) forget(partition string) {
	shard, _, _ := strings.Cut(partition, "~")
	delete(p.gaps, shard)
	delete(p.drained, shard)
}
