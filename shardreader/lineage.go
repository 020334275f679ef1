package shardreader

// lineage knows which shards may be read: a child only after its parent. It is
// plain state, without goroutines or I/O.
type lineage struct {
	nodes map[string]*shardNode
	order []string // as listed
}

type shardNode struct {
	Shard
	hasChild      bool
	started, done bool
}

// add takes in shards as listed; one that is known already stays as it is, but
// for its end.
func (l *lineage) add(shards []Shard) {
	if l.nodes == nil {
		l.nodes = make(map[string]*shardNode)
	}
	for _, s := range shards {
		if n, ok := l.nodes[s.ID]; ok {
			n.Last = s.Last
			continue
		}
		l.nodes[s.ID] = &shardNode{Shard: s}
		l.order = append(l.order, s.ID)
	}
	for _, n := range l.nodes {
		if p, ok := l.nodes[n.Parent]; ok {
			p.hasChild = true
		}
	}
}

// ready starts the shards whose parent is done, or is listed no more.
func (l *lineage) ready() []Shard {
	var ready []Shard
	for _, id := range l.order {
		n := l.nodes[id]
		if p, ok := l.nodes[n.Parent]; !n.started && (!ok || p.done) {
			n.started = true
			ready = append(ready, n.Shard)
		}
	}
	return ready
}

// finish notes that a shard was read to its end.
func (l *lineage) finish(id string) { l.nodes[id].done = true }

// open tells whether a shard still grows: listed as open, and without a child.
func (l *lineage) open(id string) bool {
	n := l.nodes[id]
	return n.Open() && !n.hasChild
}
