package streamtest

import (
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// Shards returns the ids of all shards, listed or not, oldest first.
func (st *Stream) Shards() []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.dropExpiredShards()
	return shardIDs(st.shards)
}

// Open returns the ids of the open shards, sorted by their key ranges.
func (st *Stream) Open() []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	ids := make([]string, 0, len(st.writable))
	for _, sh := range st.writable {
		if !sh.gone {
			ids = append(ids, sh.id)
		}
	}
	return ids
}

// Hide removes shards from DescribeStream until [Stream.Show]. They can still be read by id, as if the listing were
// late.
func (st *Stream) Hide(shardIDs ...string) { st.change(shardIDs, func(sh *shard) { sh.hidden = true }) }

// Show lists shards again, even if their [Options.ListDelay] is not over.
func (st *Stream) Show(shardIDs ...string) {
	st.change(shardIDs, func(sh *shard) { sh.hidden, sh.listedFrom = false, time.Time{} })
}

// ListOpen with true makes DescribeStream list shards as open, even if they are closed. ListOpen with false ends that.
// The service lists a parent as open for some time after its child is listed.
func (st *Stream) ListOpen(open bool, shardIDs ...string) {
	st.change(shardIDs, func(sh *shard) { sh.listedOpen = open })
}

// change calls the function change for each of the shards, under the lock.
func (st *Stream) change(shardIDs []string, change func(*shard)) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, id := range shardIDs {
		change(st.mustFind(id))
	}
}

// ShardState is the real state of a shard, which may differ from the listed state.
type ShardState struct {
	shardreader.Shard
	Records int       // number of records ever written
	Trimmed int       // number of trimmed records
	Oldest  string    // sequence number of the oldest record that is not trimmed; "" if there is none
	Newest  string    // sequence number of the newest record ever written; "" if there is none
	Written time.Time // time of the newest record; zero if there is none
}

// States returns the state of each shard, oldest first.
func (st *Stream) States() []ShardState {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.dropExpiredShards()
	states := make([]ShardState, len(st.shards))
	for i, sh := range st.shards {
		states[i] = st.state(sh)
	}
	return states
}

// State returns the state of one shard.
func (st *Stream) State(shardID string) ShardState {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	return st.state(st.mustFind(shardID))
}

func (st *Stream) state(sh *shard) ShardState {
	sh, _ = st.find(sh.id) // trims old records
	s := ShardState{
		Shard:   shardreader.Shard{ID: sh.id, Parent: sh.parent, First: sh.first.text()},
		Records: len(sh.records),
		Trimmed: sh.trimmedCount,
	}
	if sh.closed() {
		s.Last = sh.lastSequence().text()
	}
	if n := len(sh.records); n > 0 {
		newest := sh.records[n-1]
		s.Newest, s.Written = newest.number.text(), time.Unix(0, newest.at).UTC()
	}
	if sh.trimmedCount < len(sh.records) {
		s.Oldest = sh.records[sh.trimmedCount].number.text()
	}
	return s
}
