package shardreader

// lineage decides which shards may be read: a child may be read only after its parent is finished. A shard is checked
// when it is listed and when its parent is finished, and at no other time. This keeps lineage fast.
type lineage struct {
	nodes      map[string]*shardNode
	order      []string                // shard ids, in the order of the listing
	children   map[string][]*shardNode // by parent id; the parent may be unlisted
	candidates []*shardNode            // shards that the next call of readyShards checks
}

// shardNode is a listed shard.
type shardNode struct {
	Shard
	started, finished bool
}

// add adds listed shards. If a shard is known, add only updates its Last.
func (l *lineage) add(shards []Shard) {
	if l.nodes == nil {
		l.nodes, l.children = make(map[string]*shardNode), make(map[string][]*shardNode)
	}
	for _, s := range shards {
		if known := l.nodes[s.ID]; known != nil {
			known.Last = s.Last
			continue
		}
		node := &shardNode{Shard: s}
		l.nodes[s.ID] = node
		l.order = append(l.order, s.ID)
		l.candidates = append(l.candidates, node)
		if s.Parent != "" {
			l.children[s.Parent] = append(l.children[s.Parent], node)
		}
	}
}

// readyShards returns the shards that may be read now and were not returned before. A shard may be read if its parent
// is finished or no longer listed. If the parent is unfinished, the shard becomes a candidate again when the parent is
// finished.
func (l *lineage) readyShards() (ready []Shard) {
	for _, node := range l.candidates {
		parent := l.nodes[node.Parent]
		isReady := parent == nil || parent.finished
		if isReady && !node.started {
			node.started = true
			ready = append(ready, node.Shard)
		}
	}
	l.candidates = nil
	return ready
}

// finish marks a shard as read to its end. The next readyShards checks its children.
func (l *lineage) finish(id string) {
	l.nodes[id].finished = true
	l.candidates = append(l.candidates, l.children[id]...)
}

// skip marks a shard as finished without a read, so that its children do not wait for it.
func (l *lineage) skip(id string) {
	l.nodes[id].started = true
	l.finish(id)
}

// childless reports whether a finished shard has no listed child, or no shard is listed at all. In both cases a later
// listing of an enabled stream will have more shards.
func (l *lineage) childless() bool {
	for id, n := range l.nodes {
		if n.finished && len(l.children[id]) == 0 {
			return true
		}
	}
	return len(l.nodes) == 0
}

// mayGrow reports whether a shard may get more records. Such a shard is listed as open and has no child.
func (l *lineage) mayGrow(id string) bool {
	return l.nodes[id].Open() && len(l.children[id]) == 0
}
