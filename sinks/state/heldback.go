package state

import (
	"encoding/json"
	"time"
)

// HeldBack is why shards of one consumer are held back, as the consumer noted it last. It is for
// `tablewake status`, and nothing depends on it: it is safe to lose a note.
type HeldBack struct {
	Consumer string // its id, which is new after a restart
	At       time.Time
	Total    int             // reasons that there are
	Worst    []HeldBackShard // of them, the longest first
	Sinks    []SinkTrouble   // sinks that fail
}

// SinkTrouble is a sink that fails, as its consumer noted it.
type SinkTrouble struct {
	Sink    string     `json:"sink"`
	Pending int64      `json:"pending"`          // changes that are neither written nor given up
	Oldest  *time.Time `json:"oldest,omitempty"` // creation of the oldest of those that failed and wait; absent where it is not known
	Failing time.Time  `json:"failing_since"`
	Error   string     `json:"error"`             // of the last failure, without values
	Blocked int        `json:"blocked,omitempty"` // keys behind a change that can never be written, as there are no dead letters
}

// Empty reports whether there is nothing to note.
func (h *HeldBack) Empty() bool { return len(h.Worst) == 0 && len(h.Sinks) == 0 }

// Body returns the reasons and the sinks as JSON, which a table stores.
func (h *HeldBack) Body() (string, error) {
	b, err := json.Marshal(heldBackBody{h.Worst, h.Sinks})
	return string(b), err
}

// SetBody reads what Body returned.
func (h *HeldBack) SetBody(body string) error {
	var b heldBackBody
	err := json.Unmarshal([]byte(body), &b)
	h.Worst, h.Sinks = b.Worst, b.Sinks
	return err
}

type heldBackBody struct {
	Worst []HeldBackShard `json:"worst"`
	Sinks []SinkTrouble   `json:"sinks,omitempty"`
}

// HeldBackShard is a reason why a shard is not read on, or why its checkpoint does not move.
type HeldBackShard struct {
	Shard  string    `json:"shard"`
	Sink   string    `json:"sink"`   // that the shard waits for; "": it waits for dead letters
	Reason string    `json:"reason"` // share, bounds, backoff, filling or writing
	Since  time.Time `json:"since"`
	Bytes  int64     `json:"bytes"` // memory that the shard has in flight
}

// HeldBackLifetime is how long after At a note expires. A consumer notes it again before that.
const HeldBackLifetime = 24 * time.Hour
