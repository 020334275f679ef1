package worker

import (
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// plan is what a listing of a stream calls for.
type plan struct {
	create  []leases.Lease      // missing, and nothing lost
	below   []shardreader.Shard // missing, and not above their parents: versions cannot be trusted
	unknown []leases.Lease      // missing, and nobody knows whether something before them was lost
	missing []shardreader.Shard // without a lease above leases that were not begun: nobody knows whether they were read to their ends
	remove  []*row              // ended, and of no more use
	drained bool                // every shard of the stream was read to its end, and no more will come
}

// keepEnded is how many times the duration of a lease an ended one stays at least:
// longer than any call that would make it again can be under way.
const keepEnded = 10

// planOf holds the leases against what is listed.
//
// A lease is made for a shard whose parent was read to its end, and for the oldest
// shards of what nobody has read; never above a lease that exists. begin tells that the
// stream has not been begun, so that a shard without a parent, or with one that is
// listed no more, starts the reading; else such a shard without a lease is one of which
// nobody knows whether something before it was lost. So it is where the stream follows
// one that was read: all of it was to be read.
func (w *Worker) planOf(arn string, l *listing, begin bool, start Start) plan {
	var p plan
	above := w.ancestors(l, anyLease)
	if begin {
		for id := range start.Sequences {
			l.markAncestors(id, above)
		}
	}
	aged := w.ancestors(l, movedOn)
	for _, s := range l.shards {
		switch {
		case w.rows.of(s.ID) != nil, w.broken[s.ID], w.broken[s.Parent]:
			continue
		case above[s.ID]:
			if !begin && !aged[s.ID] {
				p.missing = append(p.missing, s)
			}
			continue
		}
		lease := leases.Lease{Shard: s.ID, Stream: arn, First: s.First}
		if s.Parent != "" {
			lease.Parents = []string{s.Parent}
		}
		parent := w.rows.of(s.Parent)
		switch {
		case begin && start.Sequences[s.ID] != "":
			lease.First = start.Sequences[s.ID] // where it is asked for, and what is gone of it is a gap
			lease.Checkpoint.Kind = leases.AtTime
			p.create = append(p.create, lease)
		case !l.abovePrior(s):
			p.below = append(p.below, s)
		case parent != nil:
			if parent.Ended() {
				p.create = append(p.create, inherited(lease, parent))
			} // else its owner makes it
		case begin && start.Latest:
			if len(l.children[s.ID]) == 0 && !w.comesTo(l, s.ID) {
				p.create = append(p.create, w.beginning(lease, start))
			}
		case s.Parent != "" && l.has(s.Parent):
			if above[s.Parent] {
				p.create = append(p.create, lease) // the parent is done and its lease removed: a child that came late
			} // else the parent comes first
		case begin && (s.Parent == "" || !start.following):
			p.create = append(p.create, w.beginning(lease, start))
		case s.Parent == "":
			p.create = append(p.create, lease)
		default:
			p.unknown = append(p.unknown, lease)
		}
	}
	p.drained = l.status == shardreader.Disabled && len(p.create) == 0 && len(p.unknown) == 0 && len(p.below) == 0
	for _, s := range l.shards {
		r := w.rows.of(s.ID)
		p.drained = p.drained && !w.broken[s.ID]
		p.drained = p.drained && (above[s.ID] || r != nil && r.Ended())
	}
	for _, r := range w.rows.all() {
		if r.Stream != arn {
			continue
		}
		p.drained = p.drained && r.Ended()
		if r.Ended() && (r.Owner == "" || w.peers[r.Owner] == nil) && !r.busy && w.now-r.unchangedSince > keepEnded*w.o.Lease && w.useless(r, l, above) {
			p.remove = append(p.remove, r)
		}
	}
	return p
}

// comesTo tells whether a shard above that one has a lease, so that the lineage comes to it.
func (w *Worker) comesTo(l *listing, shard string) bool {
	for shard = l.parent(shard); shard != ""; shard = l.parent(shard) {
		if w.rows.of(shard) != nil {
			return true
		}
	}
	return false
}

// beginning is the lease of a shard that the reading of a stream starts with. Where
// its oldest records were dropped before that, nothing of ours is lost.
func (w *Worker) beginning(l leases.Lease, start Start) leases.Lease {
	switch {
	case start.following:
		return l
	case start.Latest:
		l.Checkpoint.Kind = leases.Latest
		l.From = second(start.Time)
	case !start.Time.IsZero():
		l.Checkpoint.Kind = leases.AtTime
		l.From = second(start.Time)
	}
	l.First = ""
	return l
}

// inherited is a lease that passes over what its parent's passed over to its end.
func inherited(l leases.Lease, parent *row) leases.Lease {
	if !parent.From.IsZero() && (parent.Time.IsZero() || parent.Time.Before(parent.From)) {
		l.From = parent.From
	}
	return l
}

func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

// useless tells whether an ended lease may go: each child of it has moved past its
// start, or nothing is left that could ask for it.
func (w *Worker) useless(r *row, l *listing, above map[string]bool) bool {
	kids := append([]string(nil), r.Children...)
	for _, c := range l.children[r.Shard] {
		kids = append(kids, c.ID)
	}
	if len(kids) == 0 {
		return !l.has(r.Shard)
	}
	for _, id := range kids {
		if c := w.rows.of(id); c != nil && !past(c) || c == nil && !above[id] && l.has(id) {
			return false
		}
	}
	return true
}
