package streamtest

import (
	"slices"
	"time"
)

// Trim removes the oldest n records of a shard.
func (st *Stream) Trim(shardID string, n int) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.must(shardID)
	sh.trim(sh.horizon + n)
}

// TrimBefore removes from each shard the records that were written before a time.
func (st *Stream) TrimBefore(before time.Time) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, sh := range st.shards {
		sh.age(before.UnixNano())
	}
}

// Drop removes a shard with its records. If the shard was open, the next write to one of its keys creates a child,
// which takes over the keys.
func (st *Stream) Drop(shardID string) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.must(shardID).gone = true
	st.sweep()
}

// DropEnded removes all closed shards. The parents of the remaining shards are not found any more.
func (st *Stream) DropEnded() {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, sh := range st.closing {
		sh.gone = true
	}
	st.closing = nil
	st.sweep()
}

// age removes shards that closed longer ago than the retention, because all of their records are older than the
// retention. The caller holds the lock, here and below.
func (st *Stream) age() {
	n := 0
	for n < len(st.closing) && (st.closing[n].gone || st.server.expired(st.closing[n].ended)) {
		st.closing[n].gone = true
		n++
	}
	if n > 0 {
		st.closing = st.closing[n:]
		st.sweep()
	}
}

// sweep removes gone shards from the fields of the stream.
func (st *Stream) sweep() {
	isGone := func(sh *shard) bool { return sh.gone }
	for _, sh := range st.shards {
		if !sh.gone {
			continue
		}
		delete(st.byID, sh.id)
		if beside := slices.DeleteFunc(st.children[sh.parent], isGone); len(beside) > 0 {
			st.children[sh.parent] = beside
		} else {
			delete(st.children, sh.parent)
		}
	}
	st.shards = slices.DeleteFunc(st.shards, isGone)
}
