package streamtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// Stream is one stream of a [Server]. Its methods panic if a shard that is passed to them does not exist.
type Stream struct {
	server    *Server // its lock guards the fields below
	ref       shardreader.StreamRef
	status    shardreader.StreamStatus
	view      record.ViewType
	enabledAt time.Time

	disabledAt   time.Time           // zero while the stream is enabled
	shards       []*shard            // sorted by creation time, and so by id
	byID         map[string]*shard   // by id
	children     map[string][]*shard // by id of the parent
	writable     []*shard            // open shards, sorted by key range
	closedShards []*shard            // closed shards, oldest first
	lastCreated  int64               // creation time of the newest shard, Unix milliseconds
}

// ARN returns the ARN of the stream.
func (st *Stream) ARN() string { return st.ref.ARN }

// Table returns the name of the stream's table.
func (st *Stream) Table() string { return st.ref.Table }

// Put appends records to an open shard and returns their sequence numbers.
func (st *Stream) Put(shardID string, records ...Record) []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.mustFind(shardID)
	if sh.closed() {
		panic("streamtest: Put into the closed shard " + shardID)
	}
	sequences := make([]string, len(records))
	for i, r := range records {
		sequences[i] = st.append(sh, r).text()
	}
	return sequences
}

// append writes a record. The caller holds the lock, here and below.
func (st *Stream) append(sh *shard, r Record) sequence {
	n, now := sh.next(st.server), st.server.options.Now()
	st.server.scratch = r.appendJSON(st.server.scratch[:0], n, now.Unix(), st.view)
	sh.append(n, now.UnixNano(), st.server.scratch)
	return n
}

// Split closes a shard, and opens n children that share its keys. It returns the ids of the children.
func (st *Stream) Split(shardID string, n int) []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	return shardIDs(st.split(st.mustFind(shardID), n))
}

// Rollover closes a shard, opens one child and returns its id. The service rolls each shard over every few hours.
func (st *Stream) Rollover(shardID string) string { return st.Split(shardID, 1)[0] }

// SplitBelow is like Split, but the sequence numbers of the children start below those of the parent. The service never
// does that, and versions depend on the order. So a reader must notice the wrong order and stop.
func (st *Stream) SplitBelow(shardID string, n int) []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	parent := st.mustFind(shardID)
	children := st.split(parent, n)
	for _, sh := range children {
		sh.offset = sh.first - parent.first + 100*sequenceStep
		sh.first -= sh.offset
	}
	return shardIDs(children)
}

func (st *Stream) split(parent *shard, n int) []*shard {
	if parent.closed() {
		panic("streamtest: Split of the closed shard " + parent.id)
	}
	index := st.writableIndex(parent)
	st.close(parent)
	var children []*shard
	for _, r := range parent.keys.split(n) {
		children = append(children, st.addShard(parent.id, r))
	}
	st.writable = slices.Insert(st.writable, index, children...)
	return children
}

// close closes an open shard. The caller adds the children, if any.
func (st *Stream) close(sh *shard) {
	index := st.writableIndex(sh)
	st.writable = slices.Delete(st.writable, index, index+1)
	sh.ended = st.server.options.Now()
	st.closedShards = append(st.closedShards, sh)
}

// Disable closes the stream and its shards. The shards stay readable until the retention is over.
func (st *Stream) Disable() {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	if !st.disabledAt.IsZero() {
		return
	}
	st.status, st.disabledAt = shardreader.Disabled, st.server.options.Now()
	for _, sh := range st.writable {
		sh.ended = st.disabledAt
	}
	st.closedShards = append(st.closedShards, st.writable...)
	st.writable = nil
	if t := st.server.tables[st.ref.Table]; t != nil && t.stream == st {
		t.stream = nil
	}
}

// SetStatus changes only the reported status. For example, a stream is ENABLING before it has records, and DISABLING
// while its shards are still open.
func (st *Stream) SetStatus(status shardreader.StreamStatus) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.status = status
}

// Delete removes the stream, as the service does 24 hours after it was disabled.
func (st *Stream) Delete() {
	st.Disable()
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.server.streams = slices.DeleteFunc(st.server.streams, func(other *Stream) bool { return other == st })
	delete(st.server.byARN, st.ref.ARN)
}

func (st *Stream) addShard(parent string, keys keyRange) *shard {
	now := st.server.options.Now()
	st.server.shards++
	st.lastCreated = max(st.lastCreated+1, now.UnixMilli())
	sh := &shard{
		id:     fmt.Sprintf("shardId-%020d-%08x", st.lastCreated, st.server.shards),
		parent: parent,
		keys:   keys,
		first:  st.server.nextSequence(),
	}
	if parent != "" && st.server.options.ListDelay > 0 {
		sh.listedFrom = now.Add(st.server.options.ListDelay)
	}
	st.shards = append(st.shards, sh)
	st.byID[sh.id] = sh
	st.children[parent] = append(st.children[parent], sh)
	return sh
}

func (st *Stream) find(shardID string) (*shard, *failure) {
	if sh := st.byID[shardID]; sh != nil {
		sh.trimBefore(st.server.options.Now().Add(-st.server.options.Retention).UnixNano())
		return sh, nil
	}
	return nil, notFound("Requested resource not found: Shard: %s in Stream: %s not found", shardID, st.ref.ARN)
}

// mustFind returns a shard, and panics if it does not exist.
func (st *Stream) mustFind(shardID string) *shard {
	st.dropExpiredShards()
	sh, f := st.find(shardID)
	if f != nil {
		panic("streamtest: " + f.Error())
	}
	return sh
}

func shardIDs(shards []*shard) []string {
	ids := make([]string, len(shards))
	for i, sh := range shards {
		ids[i] = sh.id
	}
	return ids
}
