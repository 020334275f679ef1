package consumer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// need is what it means when calls of a kind fail in a way that no retry helps.
type need int

const (
	// needed is what nothing is read without from the start: where none ever worked the
	// configuration is wrong, and reading ends at once, else when it is hopeless.
	needed need = iota
	// wanted is what reading goes on without for a while: it ends when it is hopeless.
	wanted
	// spared is what tidies up: it is told once, and does no harm.
	spared
)

const (
	// hopeless is how long a call may fail in a way that no retry helps: credentials expire
	// and are renewed, permissions are changed back.
	hopeless = pipeline.DeniedFor

	// apart is how long two failures are apart that have nothing to do with each other: a
	// call that fails is tried again sooner.
	apart = 90 * time.Second
)

// record is how calls of one kind went.
type record struct {
	worked      bool
	failed      bool          // the last one, hopelessly
	since, last time.Duration // the first and the last of failures with no success, and no pause, between them
}

// judge ends reading where no retry helps.
func (c *Consumer) judge(what string, n need, err error) {
	hope := err == nil || !pipeline.IsFatal(err) && !errors.Is(err, shardreader.ErrDenied)
	if err != nil && hope {
		return // it says nothing of the next one
	}
	c.mu.Lock()
	r, now := c.calls[what], c.now()
	first := !hope && !r.failed
	switch {
	case hope:
		r = record{worked: true}
	case first || now-r.last > apart:
		r.failed, r.since = true, now
	}
	r.last = now
	c.calls[what] = r
	c.mu.Unlock()
	switch {
	case hope:
	case n == spared:
		if first {
			c.log.LogAttrs(c.ctx, slog.LevelWarn, "a call is refused: what it would tidy up stays", slog.String("call", what), slog.String("error", pipeline.LogText(err)))
		}
	case n == needed && !r.worked, now-r.since >= hopeless:
		c.fail(fmt.Errorf("%s: %w", what, err))
	}
}
