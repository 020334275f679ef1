package streamtest

import (
	"slices"
	"time"
)

// Trim removes the oldest n records of a shard.
func (st *Stream) Trim(shardID string, n int) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.mustFind(shardID)
	sh.trim(sh.trimmedCount + n)
}

// TrimBefore removes from each shard the records that were written before a time.
func (st *Stream) TrimBefore(before time.Time) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, sh := range st.shards {
		sh.trimBefore(before.UnixNano())
	}
}

// Drop removes a shard with its records. If the shard was open, the next write to one of its keys creates a child,
// which takes over the keys.
func (st *Stream) Drop(shardID string) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.mustFind(shardID).gone = true
	st.removeGone()
}

// DropEnded removes all closed shards. The parents of the remaining shards are not found any more.
func (st *Stream) DropEnded() {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, sh := range st.closedShards {
		sh.gone = true
	}
	st.closedShards = nil
	st.removeGone()
}

// dropExpiredShards removes shards that closed longer ago than the retention, because all of their records are older
// than the retention. The caller holds the lock, here and below.
func (st *Stream) dropExpiredShards() {
	remaining := st.closedShards
	for len(remaining) > 0 && (remaining[0].gone || st.server.isExpired(remaining[0].ended)) {
		remaining[0].gone = true
		remaining = remaining[1:]
	}
	if len(remaining) < len(st.closedShards) {
		st.closedShards = remaining
		st.removeGone()
	}
}

// removeGone removes gone shards from the fields of the stream.
func (st *Stream) removeGone() {
	isGone := func(sh *shard) bool { return sh.gone }
	for _, sh := range st.shards {
		if !sh.gone {
			continue
		}
		delete(st.byID, sh.id)
		if siblings := slices.DeleteFunc(st.children[sh.parent], isGone); len(siblings) > 0 {
			st.children[sh.parent] = siblings
		} else {
			delete(st.children, sh.parent)
		}
	}
	st.shards = slices.DeleteFunc(st.shards, isGone)
}
