package state

import "time"

// HeldBack is what holds the shards of one consumer back, as it noted it last. It is for people
// who look from outside, and nothing is decided by it: a note that is lost, or of a consumer
// that died, does no harm. Consumers keep theirs apart by their ids.
type HeldBack struct {
	Consumer string // its id, which no other has, nor the same one after a restart
	At       time.Time
	Total    int             // reasons that there are
	Worst    []HeldBackShard // of them, the longest first
}

// HeldBackShard is a reason why a shard is not read on, or why its checkpoint stays where it is.
type HeldBackShard struct {
	Shard  string    `json:"shard"`
	Sink   string    `json:"sink"`   // that it waits for; "" where it waits for dead letters
	Reason string    `json:"reason"` // share, bounds, backoff or filling
	Since  time.Time `json:"since"`
	Bytes  int64     `json:"bytes"` // that are in flight of the shard
}

// HeldBackLasts is how long a note counts. What is held back for longer is noted again.
const HeldBackLasts = 24 * time.Hour
