package consumer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader"
)

// callImportance defines the reaction to permanent failures of a call.
type callImportance int

const (
	// neededAtStart calls must succeed before anything is read. Until a call of the same name has succeeded, a failure
	// means that the configuration is wrong, and reading ends at once. Later, reading ends after maxDenied.
	neededAtStart callImportance = iota
	// neededLater calls may fail for some time. Reading ends after maxDenied.
	neededLater
	// cleanupOnly calls remove rows that are no longer needed. A failure is logged once, and reading continues.
	cleanupOnly
)

const (
	// maxDenied is how long a call may fail permanently before reading ends. In this time expired credentials may be
	// renewed and permissions restored.
	maxDenied = pipeline.DeniedFor

	// unrelatedAfter is the longest pause between two related failures. A failed call is retried sooner, so a longer
	// pause means that the call succeeded or was not made in between.
	unrelatedAfter = 90 * time.Second
)

// failureSpan holds the times of the first and the last of several permanent failures of a callKey, without a success
// and without a pause of unrelatedAfter between them.
type failureSpan struct{ first, last time.Duration }

// callKey identifies calls by name and target. The target is the table or the stream; "" for calls of the lease table.
type callKey struct{ call, target string }

// noteCallResult ends reading if calls fail permanently for too long. It counts each target separately, because the
// rights may be missing on only one of several streams. A transient failure shows nothing about the rights.
func (c *Consumer) noteCallResult(name, target string, importance callImportance, err error) {
	key := callKey{name, target}
	if err == nil {
		c.mu.Lock()
		c.workedCalls[name] = true
		delete(c.failures, key)
		c.mu.Unlock()
		return
	}
	isPermanent := pipeline.IsFatal(err) || errors.Is(err, shardreader.ErrDenied)
	if !isPermanent {
		return
	}

	c.mu.Lock()
	failingFor, isFirst := c.noteFailure(key)
	isMisconfigured := importance == neededAtStart && !c.workedCalls[name]
	c.mu.Unlock()

	if importance == cleanupOnly {
		if isFirst {
			c.log.LogAttrs(c.ctx, slog.LevelWarn, "a cleanup call is denied: its row stays", slog.String("call", name),
				slog.String("error", redact.LogText(err)))
		}
		return
	}
	if isMisconfigured || failingFor >= maxDenied {
		c.fail(fmt.Errorf("%s: %w", name, err))
	}
}

// noteFailure notes a permanent failure. It returns for how long the calls fail, and whether none failed since the last
// success. The caller holds the lock.
func (c *Consumer) noteFailure(key callKey) (failingFor time.Duration, isFirst bool) {
	now := c.now()
	span, failedBefore := c.failures[key]
	if !failedBefore || now-span.last > unrelatedAfter {
		span.first = now
	}
	span.last = now
	c.failures[key] = span
	return now - span.first, !failedBefore
}
