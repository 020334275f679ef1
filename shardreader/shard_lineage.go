package shardreader

// shardReaders runs the readers of several shards, each in its own goroutine.
type shardReaders struct {
	ends    chan shardEnd // gets the result of each reader; whoever receives one counts down running
	running int           // number of readers whose results were not received
}

// shardEnd is the result of reading a shard.
type shardEnd struct {
	shard string
	ended bool // the shard was read to its end, or does not exist any more; so it may have children
	err   error
}

func newShardReaders() shardReaders { return shardReaders{ends: make(chan shardEnd)} }

// start runs read, the reader of a shard.
func (s *shardReaders) start(shard string, read func() (ended bool, err error)) {
	s.running++
	go func() {
		ended, err := read()
		s.ends <- shardEnd{shard, ended, err}
	}()
}

// wait returns once all readers have ended. It drops their results.
func (s *shardReaders) wait() {
	for ; s.running > 0; s.running-- {
		<-s.ends
	}
}

// lineage decides which shards may be read: a child may be read only after its parent is finished.
type lineage struct {
	nodes    map[string]*shardNode
	order    []*shardNode    // in the order of the listing
	hasChild map[string]bool // by parent id; the parent may be unlisted
}

// shardNode is a listed shard.
type shardNode struct {
	Shard
	started, finished bool
}

// add adds listed shards. If a shard is known, add only updates its Last.
func (l *lineage) add(shards []Shard) {
	if l.nodes == nil {
		l.nodes, l.hasChild = make(map[string]*shardNode), make(map[string]bool)
	}
	for _, s := range shards {
		if known := l.nodes[s.ID]; known != nil {
			known.Last = s.Last
			continue
		}
		node := &shardNode{Shard: s}
		l.nodes[s.ID] = node
		l.order = append(l.order, node)
		l.hasChild[s.Parent] = true
	}
}

// readyShards returns the shards that may be read now and were not returned before. A shard may be read if its parent
// is finished or no longer listed.
func (l *lineage) readyShards() (ready []Shard) {
	for _, node := range l.order {
		parent := l.nodes[node.Parent]
		isReady := parent == nil || parent.finished
		if isReady && !node.started {
			node.started = true
			ready = append(ready, node.Shard)
		}
	}
	return ready
}

// markFinished marks a shard as read to its end, or as not to be read, so that its children may be read.
func (l *lineage) markFinished(id string) {
	l.nodes[id].started, l.nodes[id].finished = true, true
}

// childless reports whether a finished shard has no listed child, or no shard is listed at all. In both cases an
// enabled stream will list more shards later.
func (l *lineage) childless() bool {
	for id, n := range l.nodes {
		if n.finished && !l.hasChild[id] {
			return true
		}
	}
	return len(l.nodes) == 0
}

// mayGrow reports whether a shard may get more records. Such a shard is listed as open and has no child.
func (l *lineage) mayGrow(id string) bool {
	return l.nodes[id].Open() && !l.hasChild[id]
}
