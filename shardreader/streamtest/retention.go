package streamtest

import "slices"

// Trim drops the oldest n records that a shard has left.
func (st *Stream) Trim(shardID string, n int) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.must(shardID)
	sh.trim(sh.horizon + n)
}

// Drop makes a shard disappear, with its records. The keys of one that was open
// go to a child of it as soon as a table writes one of them.
func (st *Stream) Drop(shardID string) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.must(shardID).gone = true
	st.sweep()
}

// DropEnded makes all shards disappear that are closed: what is left has parents
// that nobody can look up.
func (st *Stream) DropEnded() {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, sh := range st.closing {
		sh.gone = true
	}
	st.closing = nil
	st.sweep()
}

// age makes the shards disappear that closed too long ago: their records are all
// older than that. The lock is held, here and below.
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

// sweep takes what is gone out of the listings.
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
