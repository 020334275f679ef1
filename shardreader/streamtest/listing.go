package streamtest

import (
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// Shards are the ids of the shards that are there, listed or not, oldest first.
func (st *Stream) Shards() []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.age()
	return names(st.shards)
}

// Open are the ids of the shards that take records, by the keys that they own.
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

// Hide leaves shards out of DescribeStream until [Stream.Show]. Who knows their ids
// can read them: a listing lags behind what there is, in the service too.
func (st *Stream) Hide(shardIDs ...string) { st.hide(true, shardIDs) }

// Show ends what [Stream.Hide] began, and [Options.ListDelay] for these shards.
func (st *Stream) Show(shardIDs ...string) { st.hide(false, shardIDs) }

func (st *Stream) hide(hidden bool, shardIDs []string) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, id := range shardIDs {
		sh := st.must(id)
		if sh.hidden = hidden; !hidden {
			sh.listed = time.Time{}
		}
	}
}

// ListOpen has shards listed as open, without an end, until it is taken back,
// whatever they are: the service lists a parent so beside its child, for a while.
func (st *Stream) ListOpen(open bool, shardIDs ...string) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	for _, id := range shardIDs {
		st.must(id).open = open
	}
}

// ShardState is what a shard is, whatever the stream lists of it.
type ShardState struct {
	shardreader.Shard
	Records int       // ever written
	Trimmed int       // of them, from the oldest on
	Oldest  string    // sequence number of the oldest record left; "" where none is
	Newest  string    // sequence number of the newest record, trimmed or not; "" where none was written
	Written time.Time // when the newest record was written; zero where none was
}

// States are the states of the shards that are there, oldest first.
func (st *Stream) States() []ShardState {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.age()
	states := make([]ShardState, len(st.shards))
	for i, sh := range st.shards {
		states[i] = st.state(sh)
	}
	return states
}

// State is the state of one shard.
func (st *Stream) State(shardID string) ShardState {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	return st.state(st.must(shardID))
}

func (st *Stream) state(sh *shard) ShardState {
	sh, _ = st.find(sh.id) // ages it
	s := ShardState{
		Shard:   shardreader.Shard{ID: sh.id, Parent: sh.parent, First: sh.first.text()},
		Records: len(sh.records),
		Trimmed: sh.horizon,
	}
	if sh.closed() {
		s.Last = sh.last().text()
	}
	if n := len(sh.records); n > 0 {
		s.Newest, s.Written = sh.records[n-1].number.text(), time.Unix(0, sh.records[n-1].at).UTC()
	}
	if sh.horizon < len(sh.records) {
		s.Oldest = sh.records[sh.horizon].number.text()
	}
	return s
}
