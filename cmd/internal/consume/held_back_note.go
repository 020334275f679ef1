package consume

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/sinks/state"
)

// heldBackShards returns the reasons why a consumer's shards are held back. The oldest reason is first.
func heldBackShards(held []pipeline.HeldBack, st coordinator.Status) []state.HeldBackReason {
	shards := make(map[string]string, len(st.Partitions))
	for _, p := range st.Partitions {
		shards[p.Name] = p.Shard
	}
	all := make([]state.HeldBackReason, 0, len(held))
	for _, h := range held {
		shard, isRead := shards[h.Partition]
		if !isRead {
			shard, _, _ = strings.Cut(h.Partition, "~") // the consumer has just released the shard
		}
		all = append(all, state.HeldBackReason{Shard: shard, Sink: h.Sink, Reason: h.Reason, Since: h.Since.UTC(),
			Bytes: h.Bytes})
	}
	return all
}

// failingSinks returns the sinks that fail.
func failingSinks(all []pipeline.SinkState) []state.FailingSink {
	var failing []state.FailingSink
	for _, s := range all {
		if !s.Failing.IsZero() {
			failing = append(failing, state.FailingSink{
				Sink: s.Name, Pending: s.Pending, Oldest: cli.OptionalTime(s.Oldest), Failing: s.Failing.UTC(), Error: s.Error,
				Blocked: s.Blocked,
			})
		}
	}
	return failing
}

const (
	noteInterval     = 10 * time.Second // interval of updates
	minNotedDuration = 30 * time.Second // minimum duration of a reason in a note
	noteRefresh      = time.Hour        // time after which an unchanged note is written again, because notes expire
	noteSize         = 20               // maximum number of reasons in a note
	noteTimeout      = 10 * time.Second // timeout of one write
)

// heldBackNote writes the note of one consumer.
type heldBackNote struct {
	store    state.HeldBackNotes
	consumer string

	stored    state.HeldBack // the note that was written last; zero if none was written
	lastError string         // text of the error of the last update; "": it succeeded
}

// writeIfChanged writes the note if its reasons changed, or if a sink fails or failed in the last note. It also writes
// the note again if the last note is older than noteRefresh, unless the note is empty.
func (n *heldBackNote) writeIfChanged(
	ctx context.Context, now time.Time, held []state.HeldBackReason, failing []state.FailingSink,
) error {
	isShort := func(h state.HeldBackReason) bool { return now.Sub(h.Since) < minNotedDuration }
	noted := slices.DeleteFunc(slices.Clone(held), isShort)
	note := state.HeldBack{Consumer: n.consumer, At: now.UTC(), Total: len(noted),
		Worst: noted[:min(len(noted), noteSize)], Sinks: failing}
	hasSameReasons := note.Total == n.stored.Total && slices.EqualFunc(note.Worst, n.stored.Worst, sameReason)
	failsOrFailed := len(failing) > 0 || len(n.stored.Sinks) > 0
	expiresSoon := note.Total > 0 && now.Sub(n.stored.At) >= noteRefresh
	isChanged := !hasSameReasons || failsOrFailed
	if !isChanged && !expiresSoon {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	if err := n.store.SetHeldBack(ctx, note); err != nil {
		return fmt.Errorf("what holds shards back cannot be noted for `tablewake status`: %w", err)
	}
	n.stored = note
	return nil
}

// sameReason reports whether a and b are the same reason. It ignores the number of bytes, which always changes.
func sameReason(a, b state.HeldBackReason) bool {
	return a.Shard == b.Shard && a.Sink == b.Sink && a.Reason == b.Reason && a.Since.Equal(b.Since)
}

// noteHeldBack updates the consumer's note until ctx is done, and then removes it.
func (c *consumerRun) noteHeldBack(ctx context.Context) {
	if c.notes == nil {
		return
	}
	note := heldBackNote{store: c.notes, consumer: c.consumer.ID()}
	tick := time.NewTicker(noteInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			held := heldBackShards(c.pipeline.HeldBack(), c.consumer.Status())
			note.update(ctx, c.log, held, failingSinks(c.pipeline.Sinks()))
		case <-ctx.Done():
			note.update(context.WithoutCancel(ctx), c.log, nil, nil)
			return
		}
	}
}

// update writes the note if it changed. It prints an error to w, unless the last update had the same error.
func (n *heldBackNote) update(
	ctx context.Context, w io.Writer, held []state.HeldBackReason, failing []state.FailingSink,
) {
	errorText := ""
	if err := n.writeIfChanged(ctx, time.Now(), held, failing); err != nil {
		errorText = err.Error()
	}
	if errorText != "" && errorText != n.lastError {
		fmt.Fprintln(w, errorText)
	}
	n.lastError = errorText
}
