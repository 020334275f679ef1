package consume

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/sinks/state"
)

// heldBackStore keeps the notes of consumers for `status`.
type heldBackStore interface {
	SetHeldBack(ctx context.Context, h state.HeldBack) error
	HeldBack(ctx context.Context) ([]state.HeldBack, error)
}

// heldBackShards are the reasons that hold a consumer's shards back, the longest first.
func heldBackShards(held []pipeline.HeldBack, st coordinator.Status) []state.HeldBackShard {
	shards := make(map[string]string, len(st.Partitions))
	for _, p := range st.Partitions {
		shards[p.Name] = p.Shard
	}
	all := make([]state.HeldBackShard, 0, len(held))
	for _, h := range held {
		shard, ok := shards[h.Partition]
		if !ok {
			shard, _, _ = strings.Cut(h.Partition, "~") // the consumer has just let it go
		}
		all = append(all, state.HeldBackShard{Shard: shard, Sink: h.Sink, Reason: h.Reason, Since: h.Since.UTC(), Bytes: h.Bytes})
	}
	return all
}

// failingSinks are the sinks that fail.
func failingSinks(all []pipeline.SinkState) []state.SinkTrouble {
	var failing []state.SinkTrouble
	for _, s := range all {
		if !s.Failing.IsZero() {
			failing = append(failing, state.SinkTrouble{
				Sink: s.Name, Pending: s.Pending, Oldest: cli.OptionalTime(s.Oldest), Failing: s.Failing.UTC(), Error: s.Error, Blocked: s.Blocked,
			})
		}
	}
	return failing
}

const (
	noteEvery   = 10 * time.Second // how often a consumer looks at what is held back
	noteAfter   = 30 * time.Second // how long a reason lasts before it is noted
	noteRefresh = time.Hour        // how often an unchanged note is written again: it expires
	noteSize    = 20               // reasons in a note
	noteTimeout = 10 * time.Second // of writing a note
)

// heldBackNote is the note that a consumer leaves for `status`. It is written when it changes.
type heldBackNote struct {
	store    heldBackStore
	consumer string

	noted state.HeldBack // as the store has it; zero where it has none
}

// look brings the note up to date with what is held back now.
func (n *heldBackNote) look(ctx context.Context, now time.Time, held []state.HeldBackShard, failing ...state.SinkTrouble) error {
	long := slices.DeleteFunc(slices.Clone(held), func(h state.HeldBackShard) bool { return now.Sub(h.Since) < noteAfter })
	note := state.HeldBack{Consumer: n.consumer, At: now.UTC(), Total: len(long), Worst: long[:min(len(long), noteSize)], Sinks: failing}
	if note.Total == n.noted.Total && slices.EqualFunc(note.Worst, n.noted.Worst, sameHold) && len(failing)+len(n.noted.Sinks) == 0 && (note.Total == 0 || now.Sub(n.noted.At) < noteRefresh) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	if err := n.store.SetHeldBack(ctx, note); err != nil {
		return fmt.Errorf("what holds shards back cannot be noted for `tablewake status`: %w", err)
	}
	n.noted = note
	return nil
}

// sameHold reports whether two reasons are the same. Their bytes always differ.
func sameHold(a, b state.HeldBackShard) bool {
	return a.Shard == b.Shard && a.Sink == b.Sink && a.Reason == b.Reason && a.Since.Equal(b.Since)
}

// noteHeldBack keeps the note of a consumer until ctx is done, and then removes it.
func (c *consuming) noteHeldBack(ctx context.Context) {
	if c.heldBack == nil {
		return
	}
	note := heldBackNote{store: c.heldBack, consumer: c.source.ID()}
	said := ""
	look := func(ctx context.Context, held []pipeline.HeldBack, sinks []pipeline.SinkState) {
		text := ""
		if err := note.look(ctx, time.Now(), heldBackShards(held, c.source.Status()), failingSinks(sinks)...); err != nil {
			text = err.Error()
		}
		if text != said && text != "" {
			fmt.Fprintln(c.log, text)
		}
		said = text
	}
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			look(ctx, c.pipeline.HeldBack(), c.pipeline.Sinks())
		case <-ctx.Done():
			look(context.WithoutCancel(ctx), nil, nil)
			return
		}
	}
}
