package shardreader

// lineage knows which shards may be read: a child only after its parent. It is
// plain state, without goroutines or I/O. A shard is looked at when it is listed and when
// its parent is done, however many others there are.
type lineage struct {
	nodes      map[string]*shardNode
	order      []string                // as listed
	children   map[string][]*shardNode // by their parent, listed or not
	candidates []*shardNode            // that may be ready
}

type shardNode struct {
	Shard
	started, done bool
}

// add takes in shards as listed; one that is known already stays as it is, but
// for its end.
func (l *lineage) add(shards []Shard) {
	if l.nodes == nil {
		l.nodes, l.children = make(map[string]*shardNode), make(map[string][]*shardNode)
	}
	for _, s := range shards {
		if n, ok := l.nodes[s.ID]; ok {
			n.Last = s.Last
			continue
		}
		n := &shardNode{Shard: s}
		l.nodes[s.ID] = n
		l.order = append(l.order, s.ID)
		l.candidates = append(l.candidates, n)
		if s.Parent != "" {
			l.children[s.Parent] = append(l.children[s.Parent], n)
		}
	}
}

// ready starts the shards whose parent is done, or is listed no more.
func (l *lineage) ready() []Shard {
	var ready []Shard
	for _, n := range l.candidates {
		if p, ok := l.nodes[n.Parent]; !n.started && (!ok || p.done) {
			n.started = true
			ready = append(ready, n.Shard)
		} // else it is free once its parent is done
	}
	l.candidates = nil
	return ready
}

// finish notes that a shard was read to its end.
func (l *lineage) finish(id string) {
	l.nodes[id].done = true
	l.candidates = append(l.candidates, l.children[id]...)
}

// open tells whether a shard still grows: listed as open, and without a child.
func (l *lineage) open(id string) bool {
	return l.nodes[id].Open() && len(l.children[id]) == 0
}
