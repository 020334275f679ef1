package gaps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes this package's errors. Their redacted text has names of streams, shards and sinks.
const errs = redact.Class("gap")

// TooEarlyError is the error of a repair that is too early: a change from before the gap may still be written.
type TooEarlyError struct{ Until time.Time }

// Error names the time from which the gap can be repaired.
func (e *TooEarlyError) Error() string {
	return fmt.Sprintf("a process may still write what is older, or acknowledge without a sink: repair it after %s",
		e.Until.UTC().Format(time.RFC3339))
}

// CheckNotTooEarly returns a *TooEarlyError while a late process may still do one of two things. It may write records
// that it read before the gaps were found, or acknowledge changes without the sinks of the births. Such a process is
// late by maxDelay at most.
func CheckNotTooEarly(gaps []state.NotedGap, leftOut []state.Birth, maxDelay time.Duration) error {
	var latest time.Time
	for _, b := range leftOut {
		if b.LeftOut.After(latest) {
			latest = b.LeftOut
		}
	}
	for _, g := range gaps {
		if g.Found.After(latest) {
			latest = g.Found
		}
	}
	if until := latest.Add(maxDelay); time.Now().Before(until) {
		return &TooEarlyError{until}
	}
	return nil
}

// CheckStopped returns an error if the reading is stopped at a gap. In that case the later records are not in the sinks
// yet, and may be lost, too. The error names a command that has the given flags.
func CheckStopped(gaps []state.NotedGap, snapshot leases.Snapshot, flags string) error {
	for _, g := range gaps {
		var reason string
		if isBetweenStreams := g.Shard == ""; isBetweenStreams {
			reason = streamStopReason(g.StreamARN, snapshot)
		} else {
			reason = shardStopReason(g.Shard, snapshot)
		}
		if reason != "" {
			shard := cmp.Or(g.Shard, "SHARD")
			return errs.Errorf("%s: %s: continue reading first, with `tablewake leases reset %s %s --to trim_horizon`, and repair then",
				redact.Safe(describe(g)), redact.Safe(reason), redact.Safe(flags), redact.Safe(shard))
		}
	}
	return nil
}

// shardStopReason returns the reason why a shard is not read further, or "" if it is read.
func shardStopReason(shard string, snapshot leases.Snapshot) string {
	for _, m := range snapshot.Members {
		if reason, stopped := m.Stopped[shard]; stopped {
			return reason
		}
	}
	for _, l := range snapshot.Leases {
		isStopped := l.Stopped != "" && l.Stopped != coordinator.PassedGap
		if l.Shard == shard && isStopped {
			return l.Stopped
		}
	}
	return ""
}

// streamStopReason returns the reason why the reading is stopped at the gap before the stream of that ARN, or "" if it
// is not. The gap is passed if a lease belongs to that stream or to a later stream. Later streams count because a
// stream that ended long ago has no lease any more. The ARN of a stream ends with its time, so among the streams of one
// table a later stream has a larger ARN.
func streamStopReason(streamARN string, snapshot leases.Snapshot) string {
	isPassed := func(l leases.Lease) bool { return l.Stream >= streamARN }
	if len(snapshot.Leases) == 0 || slices.ContainsFunc(snapshot.Leases, isPassed) {
		return ""
	}
	return coordinator.StoppedBetweenStreams
}

// CheckQuarantine returns an error if keys of the sinks are quarantined. Their later changes wait for a redrive of
// their dead letters.
func CheckQuarantine(ctx context.Context, store state.Quarantine, sinks []string, flags string) error {
	for m, err := range store.Marks(ctx, "") {
		if err != nil {
			return err
		}
		if slices.Contains(sinks, m.Sink) {
			return waitingLettersError(m.Sink, flags)
		}
	}
	return nil
}

func waitingLettersError(sink, flags string) error {
	return errs.Errorf(
		"dead letters of the sink %s wait: redrive them first, with `tablewake redrive %s --sink %s`, and repair then",
		redact.Safe(sink), redact.Safe(flags), redact.Safe(sink))
}

// CheckQueue returns an error while the on-failure queue of a function holds batches, because their changes may be
// written after the repair.
func CheckQueue(ctx context.Context, sdk awssdk.Config, url string) error {
	client := sqs.NewFromConfig(sdk)
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: queueCounts})
	if err != nil {
		return fmt.Errorf("--queue %s: %w", url, err)
	}
	var nonzero []string
	for _, name := range queueCounts {
		if n := out.Attributes[string(name)]; n != "0" {
			nonzero = append(nonzero, string(name)+" is "+n)
		}
	}
	if len(nonzero) > 0 {
		return errs.Errorf("the queue %s holds batches that may be written later (%s): redrive them first", redact.Safe(url),
			redact.Safe(strings.Join(nonzero, ", ")))
	}
	return nil
}

// queueCounts are the attributes that together count all messages of a queue.
var queueCounts = []types.QueueAttributeName{
	types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}
