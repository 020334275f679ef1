package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// node is a shard with all known facts about it.
type node struct {
	id           string
	stream       string
	description  *shardreader.Shard
	lease        *leases.Lease
	brokenReason string   // reason why its lease cannot be read
	parents      []string // known parents
	children     []string

	depth            int  // generations of known shards above it; -1: not computed yet
	descendantLeased bool // a descendant is known to have a lease
	visiting         bool // a recursion has entered it: a wrong listing can have a cycle
}

// tree has the shards by id.
type tree map[string]*node

// newTree joins the listed shards and the leases.
func newTree(obs *Observation) tree {
	t := make(tree)
	for _, s := range obs.Streams {
		for i := range s.Shards {
			n := t.node(s.Shards[i].ID)
			n.description, n.stream = &s.Shards[i], s.ARN
			t.addChild(s.Shards[i].Parent, n)
		}
	}
	for i := range obs.Leases.Leases {
		lease := &obs.Leases.Leases[i]
		n := t.node(lease.Shard)
		n.lease, n.stream = lease, cmp.Or(n.stream, lease.Stream)
		for _, p := range lease.Parents {
			t.addChild(p, n)
		}
	}
	for _, b := range obs.Leases.DamagedLeases {
		// If the name of a row has a # and no shard has that name, the row is not a lease. It is the note that a stream
		// was begun.
		isNote := t[b.Shard] == nil && strings.Contains(b.Shard, "#")
		if !isNote {
			t.node(b.Shard).brokenReason = b.Reason
		}
	}
	t.removeReadParents()
	for _, n := range t {
		slices.Sort(n.parents)
		slices.Sort(n.children)
		n.depth = t.depthOf(n)
	}
	return t
}

// removeReadParents removes the parents that are neither listed nor leased, because they were read.
func (t tree) removeReadParents() {
	for id, n := range t {
		isKnown := n.description != nil || n.lease != nil || n.brokenReason != ""
		if isKnown {
			continue
		}
		for _, c := range n.children {
			t[c].parents = slices.DeleteFunc(t[c].parents, func(p string) bool { return p == id })
		}
		delete(t, id)
	}
}

// node returns the node of a shard, and adds it if the tree does not have it.
func (t tree) node(id string) *node {
	if t[id] == nil {
		t[id] = &node{id: id, depth: -1}
	}
	return t[id]
}

// addChild makes n a child of parent. It does nothing if parent is "".
func (t tree) addChild(parent string, n *node) {
	if parent == "" || parent == n.id || slices.Contains(n.parents, parent) {
		return
	}
	n.parents = append(n.parents, parent)
	p := t.node(parent)
	p.children = append(p.children, n.id)
}

// depthOf counts the generations above a shard. It ends even if a wrong listing has a cycle.
func (t tree) depthOf(n *node) int {
	switch {
	case n.visiting: // the parents form a cycle
		return 0
	case n.depth >= 0:
		return n.depth
	}
	n.visiting = true
	depth := 0
	for _, p := range n.parents {
		depth = max(depth, t.depthOf(t[p])+1)
	}
	n.visiting, n.depth = false, depth
	return depth
}

// sorted returns the nodes by stream. Each node follows its parents, and the nodes of a tree follow one another.
func (t tree) sorted() []*node {
	all := slices.SortedFunc(maps.Values(t), func(a, b *node) int {
		return cmp.Or(strings.Compare(a.stream, b.stream), a.depth-b.depth, strings.Compare(a.id, b.id))
	})
	placed := make(map[string]bool, len(all))
	ordered := make([]*node, 0, len(all))
	for _, n := range all {
		ordered = t.appendPlaceable(ordered, placed, n)
	}
	for _, n := range all { // the parents form a cycle: the listing is wrong, and is shown anyway
		if !placed[n.id] {
			ordered = append(ordered, n)
		}
	}
	return ordered
}

// appendPlaceable appends n and its descendants, except the nodes with a parent that is not placed.
func (t tree) appendPlaceable(ordered []*node, placed map[string]bool, n *node) []*node {
	isUnplaced := func(parent string) bool { return !placed[parent] }
	if placed[n.id] || slices.ContainsFunc(n.parents, isUnplaced) {
		return ordered
	}
	placed[n.id] = true
	ordered = append(ordered, n)
	for _, c := range n.children {
		ordered = t.appendPlaceable(ordered, placed, t[c])
	}
	return ordered
}

// isDone reports whether a shard is read to its end. Either its lease says so, or the shard has no lease any more and a
// descendant has one.
func (t tree) isDone(n *node) bool {
	switch {
	case n.lease != nil:
		return n.lease.Ended()
	case n.brokenReason != "":
		return false
	}
	return t.hasLeasedDescendant(n)
}

// hasLeasedDescendant reports whether a descendant of n has a lease. It ends even if a wrong listing has a cycle.
func (t tree) hasLeasedDescendant(n *node) bool {
	if n.descendantLeased || n.visiting {
		return n.descendantLeased
	}
	n.visiting = true
	n.descendantLeased = slices.ContainsFunc(n.children, func(c string) bool {
		return t[c].lease != nil || t.hasLeasedDescendant(t[c])
	})
	n.visiting = false
	return n.descendantLeased
}

// unfinishedParent returns the first parent that is not done, or nil if all parents are done.
func (t tree) unfinishedParent(n *node) *node {
	for _, p := range n.parents {
		if !t.isDone(t[p]) {
			return t[p]
		}
	}
	return nil
}

// childReadTooEarly returns the first child that was read although n is not done, or nil if there is no such child.
func (t tree) childReadTooEarly(n *node) *node {
	if n.lease == nil || n.lease.Ended() {
		return nil
	}
	for _, c := range n.children {
		lease := t[c].lease
		wasRead := lease != nil && (lease.Checkpoint.Kind == leases.Sequence || lease.Ended())
		if wasRead {
			return t[c]
		}
	}
	return nil
}

// startsBelowParent reports whether the first sequence number of a listed shard is at or below the last sequence number
// of one of its closed parents.
func (t tree) startsBelowParent(n *node) bool {
	if n.description == nil || n.description.First == "" {
		return false
	}
	return slices.ContainsFunc(n.parents, func(p string) bool {
		parent := t[p].description
		isClosed := parent != nil && parent.Last != ""
		return isClosed && record.CompareSequence(n.description.First, parent.Last) <= 0
	})
}

// readToLast reports whether the checkpoint is at the last record of a closed shard.
func (n *node) readToLast() bool {
	isClosed := n.description != nil && n.description.Last != ""
	hasSequence := n.lease != nil && n.lease.Checkpoint.Kind == leases.Sequence
	return isClosed && hasSequence && record.CompareSequence(n.lease.Checkpoint.Sequence, n.description.Last) >= 0
}
