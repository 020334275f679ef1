package state

import "time"

// HeldBack is why shards of one consumer are held back, as the consumer noted it last. It is for
// `tablewake status`, and nothing depends on it: it is safe to lose a note.
type HeldBack struct {
	Consumer string // its id, which is new after a restart
	At       time.Time
	Total    int             // number of reasons, with those that are not in Worst
	Worst    []HeldBackShard // the longest first
}

// HeldBackShard is a reason why a shard is not read on, or why its checkpoint does not move.
type HeldBackShard struct {
	Shard  string    `json:"shard"`
	Sink   string    `json:"sink"`   // that the shard waits for; "": it waits for dead letters
	Reason string    `json:"reason"` // share, bounds, backoff or filling
	Since  time.Time `json:"since"`
	Bytes  int64     `json:"bytes"` // memory that the shard has in flight
}

// HeldBackLasts is how long after At a note expires. A consumer notes it again before that.
const HeldBackLasts = 24 * time.Hour
