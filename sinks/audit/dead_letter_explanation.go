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

	mu          sync.Mutex
	expires     time.Time             // time at which the following fields must be read again
	letters     map[heldKey]int       // number of dead letters
	quarantined map[heldKey]time.Time // time since which a key is quarantined
}

// heldKey is an item at one sink, or at every sink if sink is "".
type heldKey struct {
	sink string
	key  item.Key
}

// explain returns why an item differs at a sink, and the command that helps. Both are "" if no dead letter and no
// quarantined key explains the difference. If the items of the sink claim rows, the dead letter of a collision explains
// nothing, because its change was written as a waiting claim. explain does not know dead letters that were written
// after the last read.
func (h *heldKeys) explain(ctx context.Context, sink string, key item.Key) (why, command string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if begin := time.Now(); begin.After(h.expires) {
		if err := h.read(ctx); err != nil {
			return "", "", err
		}
		readTime := time.Since(begin)
		h.expires = begin.Add(max(heldCacheTTL, heldCacheFactor*readTime))
	}

	var reasons []string
	if n := h.letters[heldKey{sink, key}] + h.letters[heldKey{"", key}]; n > 0 {
		reasons = append(reasons, fmt.Sprintf("dead letters: %d", n))
	}
	if since, ok := h.quarantined[heldKey{sink, key}]; ok {
		reasons = append(reasons, "quarantined since "+since.UTC().Format(time.RFC3339))
	}
	if len(reasons) == 0 {
		return "", "", nil
	}
	command = "tablewake redrive "
	if h.flags != "" {
		command += h.flags + " "
	}
	return strings.Join(reasons, ", "), command + "--list --sink " + sink, nil
}

// read reads the dead letters and the quarantined keys.
func (h *heldKeys) read(ctx context.Context) error {
	h.letters, h.quarantined = make(map[heldKey]int), make(map[heldKey]time.Time)
	if err := h.readLetters(ctx); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	stateStore, err := h.stores.State(ctx, h.cfg)
	if err != nil || stateStore == nil {
		return err
	}
	for mark, err := range stateStore.Marks(ctx, "") {
		if err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		h.quarantined[heldKey{mark.Sink, mark.Key}] = mark.Since
	}
	return nil
}

// readLetters counts the dead letters of each key.
func (h *heldKeys) readLetters(ctx context.Context) (err error) {
	store, err := h.stores.DeadLetters(ctx, h.cfg)
	if err != nil {
		return err
	}
	letters, ok := store.(deadletter.Store)
	if !ok {
		return nil // the program cannot read these dead letters
	}
	defer func() { err = errors.Join(err, deadletter.Release(ctx, letters)) }()
	for letter, err := range letters.Read(ctx) {
		if err != nil {
			return err
		}
		isOfOtherPipeline := letter.Pipeline != "" && letter.Pipeline != h.cfg.Name
		isWaitingClaim := letter.Class == pipeline.ClassCollision && h.sinkHasClaims(letter.Sink)
		if !isOfOtherPipeline && !isWaitingClaim {
			h.letters[heldKey{letter.Sink, letter.Key}]++
		}
	}
	return nil
}

// sinkHasClaims reports whether the items of a sink claim rows, so that a claim waits while another item owns the row.
// It also returns true for a sink that is not a view, because no collision occurs there.
func (h *heldKeys) sinkHasClaims(sink string) bool {
	spec, _ := h.cfg.Sink(sink)
	if spec.View == nil {
		return true
	}
	return spec.View.Unique() == nil && spec.View.ForEach == nil
}
