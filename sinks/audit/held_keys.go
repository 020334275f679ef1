package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// heldCacheTTL is the time for which the dead letters and quarantined keys are used after they were read. If the read
// took long, they are used for heldCacheFactor times as long as the read.
const (
	heldCacheTTL    = 2 * time.Second
	heldCacheFactor = 20
)

// heldKeys finds the items whose differences a dead letter or a quarantined key explains.
type heldKeys struct {
	cfg    *config.Config
	stores sinks.Stores
	flags  string // see Options.CommandFlags

	mu      sync.Mutex
	expires time.Time // time at which dead letters and marks of quarantined keys must be read again
	letters map[heldKey]int
	marks   map[heldKey]time.Time
}

// heldKey is an item at one sink, or at every sink if sink is "".
type heldKey struct {
	sink string
	key  item.Key
}

// explain returns why an item differs at a sink, and the command that helps. Both are "" if no dead letter and no
// quarantined key explains the difference. If claims wait for their row, the dead letter of a collision explains
// nothing, because its change is written as a claim. explain does not know letters that came after the last read.
func (h *heldKeys) explain(ctx context.Context, sink string, key item.Key) (why, command string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if begin := time.Now(); begin.After(h.expires) {
		if err := h.read(ctx); err != nil {
			return "", "", err
		}
		h.expires = begin.Add(max(heldCacheTTL, heldCacheFactor*time.Since(begin)))
	}
	var reasons []string
	if n := h.letters[heldKey{sink, key}] + h.letters[heldKey{"", key}]; n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d dead letters", n))
	}
	if since, ok := h.marks[heldKey{sink, key}]; ok {
		reasons = append(reasons, "quarantined since "+since.UTC().Format(time.RFC3339))
	}
	if len(reasons) == 0 {
		return "", "", nil
	}
	flags := h.flags
	if flags != "" {
		flags += " "
	}
	return strings.Join(reasons, ", "), "tablewake redrive " + flags + "--list --sink " + sink, nil
}

func (h *heldKeys) read(ctx context.Context) error {
	h.letters, h.marks = make(map[heldKey]int), make(map[heldKey]time.Time)
	if err := h.readLetters(ctx); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	kept, err := h.stores.State(ctx, h.cfg)
	if err != nil || kept == nil {
		return err
	}
	for m, err := range kept.Marks(ctx, "") {
		if err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		h.marks[heldKey{m.Sink, m.Key}] = m.Since
	}
	return nil
}

func (h *heldKeys) readLetters(ctx context.Context) (err error) {
	kept, err := h.stores.DeadLetters(ctx, h.cfg)
	if err != nil {
		return err
	}
	letters, ok := kept.(deadletter.Store)
	if !ok {
		return nil // the program cannot read these dead letters
	}
	if r, ok := letters.(deadletter.Releaser); ok {
		defer func() { err = errors.Join(err, r.Release(ctx)) }()
	}
	for l, err := range letters.Read(ctx) {
		if err != nil {
			return err
		}
		if (l.Class != pipeline.ClassCollision || !h.sinkHasClaims(l.Sink)) && (l.Pipeline == "" || l.Pipeline == h.cfg.Name) {
			h.letters[heldKey{l.Sink, l.Key}]++
		}
	}
	return nil
}

// sinkHasClaims reports whether the items of a sink claim rows, so that a claim waits while another item owns the row.
// It also returns true for a sink without a view, where no collision occurs.
func (h *heldKeys) sinkHasClaims(sink string) bool {
	s, _ := h.cfg.Sink(sink)
	return s.View == nil || s.View.Unique() == nil && s.View.ForEach == nil
}
