package simulation

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// happen applies an event of the plan.
func (w *world) happen(e Event) {
	if w.calm {
		return
	}
	end := w.plan.Shape.End
	t := w.tables[e.Who%len(w.tables)] // the table of an event that names one
	switch e.Kind {
	case Writes:
		for range e.N {
			w.at(min(w.now+w.between(0, e.For), end), func() { w.write(t) })
		}
	case Split:
		w.split(t, e.Pick, 2)
	case Roll:
		w.split(t, e.Pick, 1)
	case RollAll:
		for i := range t.streams[len(t.streams)-1].open {
			w.split(t, uint32(i), 1)
		}
	case Disable:
		w.disable(t, e.For)
	case TrimSome:
		s := w.shards[int(e.Pick)%len(w.shards)]
		mayLose := w.now-s.made >= w.plan.Shape.Retention || s.row.checkpoint.Kind == leases.Sequence
		if mayLose {
			w.trim(s, min(s.trimmed+e.N, len(s.records)))
		}
	case DropOld:
		// The oldest closed shard is dropped, so all of its ancestors are gone already.
		isOldest := func(s *shard) bool { return s.closed && !s.dropped && s.stream.table == t }
		if i := slices.IndexFunc(w.shards, isOldest); i >= 0 {
			w.drop(w.shards[i])
		}
	case Crash:
		w.slots[e.Who].crash(e.For)
	case CrashAll:
		for _, sl := range w.slots {
			sl.crash(e.For + w.between(0, time.Second))
		}
	case Pause:
		if p := w.slots[e.Who].proc; p != nil {
			p.pause(min(e.For, max(end-w.now, 0)))
		}
	case Term:
		w.replace(w.slots[e.Who], e.For, nil)
	case Join:
		if len(w.slots) < 6 {
			w.tally.Joins++
			w.addSlot().start()
		}
	case Retire:
		w.retire(w.slots[e.Who])
	case Deploy:
		w.tally.Deploys++
		w.deploy(append([]*slot(nil), w.slots...), e.For)
	case Faults:
		w.open(e)
	}
}

// replace stops the process of a slot. After the process has ended and the duration after has passed, another process
// starts in the slot. done, unless it is nil, is called when the process has ended.
func (w *world) replace(sl *slot, after time.Duration, done func()) {
	next := func() {
		sl.restart(after)
		if done != nil {
			done()
		}
	}
	if sl.proc == nil {
		next()
		return
	}
	sl.proc.terminate(next)
}

// retire stops the process of a slot permanently, if others are left.
func (w *world) retire(sl *slot) {
	left := 0
	for _, o := range w.slots {
		if !o.retired {
			left++
		}
	}
	if left > 1 && !sl.retired {
		sl.retired = true
		if sl.proc != nil {
			sl.proc.terminate(func() {})
		}
	}
}

// deploy replaces the processes of slots, one after the other. each is the time from the end of one process to the stop
// of the next.
func (w *world) deploy(slots []*slot, each time.Duration) {
	if len(slots) == 0 || w.over {
		return
	}
	w.replace(slots[0], 0, func() {
		w.after(each, func() { w.deploy(slots[1:], each) })
	})
}
