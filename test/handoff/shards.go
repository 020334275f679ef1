package handoff

import "slices"

// shard is a shard of the stream.
type shard struct {
	number   int
	parent   *shard // nil: the shard existed when the stream began
	closed   bool   // its items continue in its children
	writes   []*write
	position int // index of the next record to read
	durable  int // checkpoint
}

// beginShards distributes the items over the first shards.
func (w *World) beginShards() {
	for n := range shardCount {
		w.shards = append(w.shards, &shard{number: n})
	}
	for i := range w.table.now {
		w.shardOf = append(w.shardOf, w.shards[i%shardCount])
	}
}

// ended reports whether a shard is closed, all of its records are acknowledged, and its parent has ended, too.
func (s *shard) ended() bool {
	return s.closed && s.durable == len(s.writes) && (s.parent == nil || s.parent.ended())
}

// readable returns the shards with unread records. A child is readable after its parent was acknowledged.
func (w *World) readable() []*shard {
	return slices.DeleteFunc(slices.Clone(w.shards), func(s *shard) bool {
		waits := s.parent != nil && !s.parent.ended() && !w.rules.ChildFirst
		return waits || s.ended() || s.position == len(s.writes) && !s.closed
	})
}

// split closes an open shard. The records of its items continue in one child or two children.
func (w *World) split() {
	open := slices.DeleteFunc(slices.Clone(w.shards), func(s *shard) bool { return s.closed })
	parent := open[w.rand.IntN(len(open))]
	children := 1 + w.rand.IntN(2)
	if len(w.shards)+children > maxShards {
		return
	}
	parent.closed = true
	first := len(w.shards)
	for n := range children {
		w.shards = append(w.shards, &shard{number: first + n, parent: parent})
	}
	for i, s := range w.shardOf {
		if s == parent {
			w.shardOf[i] = w.shards[first+w.rand.IntN(children)]
		}
	}
	w.tell("shard %d is closed, and has %d children from %d on", parent.number, children, first)
	w.count("a shard was split")
}
