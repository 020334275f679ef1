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

// callImportance decides what follows if calls of one name fail permanently.
type callImportance int

const (
	// neededAtStart calls must succeed before anything is read. If none ever succeeded, the configuration is wrong and
	// reading ends at once. Otherwise it ends after maxDenied.
	neededAtStart callImportance = iota
	// neededLater calls may fail for a while: reading ends after maxDenied.
	neededLater
	// cleanupOnly calls remove rows that are no longer needed. Their failure is logged once, and reading continues.
	cleanupOnly
)

const (
	// maxDenied is how long a call may fail permanently: credentials expire and are renewed, and permissions are
	// changed back.
	maxDenied = pipeline.DeniedFor

	// unrelatedAfter is the time between two failures after which they are unrelated: a failed call is retried sooner.
	unrelatedAfter = 90 * time.Second
)

// deniedSpan has the times of the first and the last permanent failure of a callKey, without a success or a pause between
// them.
type deniedSpan struct{ first, last time.Duration }

// callKey is the name of a call, and its table or stream; "" for calls of the lease table.
type callKey struct{ call, target string }

// noteCallResult ends reading if calls fail permanently for too long. Each stream is counted separately: the rights may be
// missing on only one of several streams.
func (c *Consumer) noteCallResult(name, target string, importance callImportance, err error) {
	permanent := err != nil && (pipeline.IsFatal(err) || errors.Is(err, shardreader.ErrDenied))
	if err != nil && !permanent {
		return // a transient failure neither proves that the call can succeed nor that it cannot
	}
	c.mu.Lock()
	key, now := callKey{name, target}, c.now()
	span, seen := c.failures[key]
	if permanent {
		if !seen || now-span.last > unrelatedAfter {
			span.first = now
		}
		span.last = now
		c.failures[key] = span
	} else {
		c.workedCalls[name] = true
		delete(c.failures, key)
	}
	worked := c.workedCalls[name]
	c.mu.Unlock()
	switch {
	case !permanent:
	case importance == cleanupOnly:
		if !seen {
			c.log.LogAttrs(c.ctx, slog.LevelWarn, "a cleanup call is denied: its row stays", slog.String("call", name), slog.String("error", redact.LogText(err)))
		}
	case importance == neededAtStart && !worked, now-span.first >= maxDenied:
		c.fail(fmt.Errorf("%s: %w", name, err))
	}
}
