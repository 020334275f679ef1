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

// need is what it means when calls of a kind fail in a way that no retry helps.
type callImportance int

const (
	// needed is what nothing is read without from the start: where none ever worked the
	// configuration is wrong, and reading ends at once, else when it is hopeless.
	neededAtStart callImportance = iota
	// wanted is what reading goes on without for a while: it ends when it is hopeless.
	neededLater
	// spared is what tidies up: it is told once, and does no harm.
	cleanupOnly
)

const (
	// hopeless is how long a call may fail in a way that no retry helps: credentials expire
	// and are renewed, permissions are changed back.
	maxDenied = pipeline.DeniedFor

	// apart is how long two failures are apart that have nothing to do with each other: a
	// call that fails is tried again sooner.
	unrelatedAfter = 90 * time.Second
)

// failures are those of calls of one kind to one table or stream: the first and the last of them, hopeless, with no
// success and no pause between them.
type deniedSpan struct{ first, last time.Duration }

// callOf is a kind of call, and the table or stream that it is of, "" where there is one alone.
type callKey struct{ call, target string }

// judge ends reading where no retry helps. A right may be missing on one of several streams: that calls of the
// same kind to others succeed says nothing of it.
func (c *Consumer) noteCallResult(what, of string, n callImportance, err error) {
	hope := err == nil || !pipeline.IsFatal(err) && !errors.Is(err, shardreader.ErrDenied)
	if err != nil && hope {
		return // it says nothing of the next one
	}
	c.mu.Lock()
	call, now := callKey{what, of}, c.now()
	r, again := c.failures[call]
	if hope {
		c.workedCalls[what] = true
		delete(c.failures, call)
	} else {
		if !again || now-r.last > unrelatedAfter {
			r.first = now
		}
		r.last = now
		c.failures[call] = r
	}
	worked := c.workedCalls[what]
	c.mu.Unlock()
	switch {
	case hope:
	case n == cleanupOnly:
		if !again {
			c.log.LogAttrs(c.ctx, slog.LevelWarn, "a call is refused: what it would tidy up stays", slog.String("call", what), slog.String("error", redact.LogText(err)))
		}
	case n == neededAtStart && !worked, now-r.first >= maxDenied:
		c.fail(fmt.Errorf("%s: %w", what, err))
	}
}
