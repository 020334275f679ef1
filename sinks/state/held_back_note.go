package state

import (
	"context"
	"encoding/json"
	"time"
)

// HeldBackNotes keeps the notes of the consumers of one pipeline.
type HeldBackNotes interface {
	// SetHeldBack replaces the note of a consumer, or removes it if h is empty.
	SetHeldBack(ctx context.Context, h HeldBack) error

	// HeldBack returns the notes that have not expired.
	HeldBack(ctx context.Context) ([]HeldBack, error)
}

// HeldBack is the note of one consumer with the reasons why its shards are held back. A shard is held back if it is not
// read further, or if its checkpoint does not move. `tablewake status` shows the notes. Nothing depends on the notes,
// so a note may be lost.
type HeldBack struct {
	Consumer string // consumer id, which is new after a restart
	At       time.Time
	Total    int              // number of reasons
	Worst    []HeldBackReason // some of the reasons, the longest wait first
	Sinks    []FailingSink    // failing sinks
}

// FailingSink is the note of one consumer about a sink that fails.
type FailingSink struct {
	Sink    string     `json:"sink"`
	Pending int64      `json:"pending"`          // changes that are neither written nor dead-lettered
	Oldest  *time.Time `json:"oldest,omitempty"` // creation time of the oldest failed change that waits; absent if unknown
	Failing time.Time  `json:"failing_since"`
	Error   string     `json:"error"` // text of the last failure, without values
	// Blocked is the number of keys blocked by a permanently failing change, if the pipeline has no dead letters.
	Blocked int `json:"blocked,omitempty"`
}

// Empty reports whether there is nothing to note.
func (h *HeldBack) Empty() bool { return len(h.Worst) == 0 && len(h.Sinks) == 0 }

// Body returns Worst and Sinks as JSON, which stores keep.
func (h *HeldBack) Body() (string, error) {
	b, err := json.Marshal(heldBackBody{h.Worst, h.Sinks})
	return string(b), err
}

// SetBody sets Worst and Sinks from the JSON that Body returned.
func (h *HeldBack) SetBody(body string) error {
	var b heldBackBody
	err := json.Unmarshal([]byte(body), &b)
	h.Worst, h.Sinks = b.Worst, b.Sinks
	return err
}

type heldBackBody struct {
	Worst []HeldBackReason `json:"worst"`
	Sinks []FailingSink    `json:"sinks,omitempty"`
}

// HeldBackReason is a reason why a shard is not read further, or why its checkpoint does not move.
type HeldBackReason struct {
	Shard  string    `json:"shard"`
	Sink   string    `json:"sink"`   // the sink that the shard waits for; "" for the dead letters
	Reason string    `json:"reason"` // share, bounds, backoff, filling or writing
	Since  time.Time `json:"since"`
	Bytes  int64     `json:"bytes"` // memory that the shard has in flight
}

// HeldBackLifetime is the time from At until a note expires. A consumer renews its note before it expires.
const HeldBackLifetime = 24 * time.Hour
