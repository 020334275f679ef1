package handlers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// eventSource is the source of one run. It has all pages of the run from the start. It revokes the records that are not
// finished in time.
type eventSource struct {
	pipeline  *pipeline.Pipeline
	pages     []*pipeline.Page
	deadlines deadlines

	partitions []string // partitions of the pages
	done       chan struct{}
	watching   sync.WaitGroup

	// These two fields are valid after watching has ended.
	timedOut    bool // the time was over, and the unfinished records were revoked
	stoppedHard bool // stopHard stopped the run
}

var (
	_ pipeline.Source     = (*eventSource)(nil)
	_ pipeline.Controlled = (*eventSource)(nil)
)

// runResult is the result of a run.
type runResult struct {
	timedOut bool
	err      error
}

// run delivers pages. Each page must have a tracker. When run returns, the trackers show which records are finished.
// timedOut reports whether the time was over before all records were finished.
//
// A pipeline has one run at a time. If a sink ignores its context, the pipeline's run may not end in time. This method
// then abandons the pipeline's run and returns. The next invocation waits for the abandoned run.
func (h *handler) run(ctx context.Context, limits deadlines, pages ...*pipeline.Page) (timedOut bool, err error) {
	current, err := h.startRun(ctx, limits)
	if errors.Is(err, errDeadline) {
		return true, nil
	}
	if err != nil {
		return true, err
	}
	results := make(chan runResult, 1)
	go func() {
		defer func() { <-h.runSlot }()
		results <- h.deliver(ctx, limits, pages)
	}()
	mustAbandon, cancel := newTimer(limits.abandon)
	defer cancel()
	select {
	case result := <-results:
		return result.timedOut, result.err
	case <-mustAbandon:
		current.abandoned.Store(true)
		h.options.log.LogAttrs(ctx, slog.LevelError,
			"a sink or a store did not end though its context did: the answer does not wait for it, and the next invocation does")
		return true, nil
	}
}

// runState is the state of one run. abandoned is true if its invocation did not wait for the end of the run.
type runState struct{ abandoned atomic.Bool }

// errStuck is the error of an invocation that waited in vain for the abandoned run of an earlier invocation. No other
// run can start until the abandoned run ends.
var errStuck = errs.New(
	"a sink or a store that an earlier invocation abandoned has not ended within this invocation, and nothing can be delivered before it does: the process must be replaced; make each Write end when its context does")

// startRun waits until no run is in flight. If the time is over before that, the error is errDeadline. It is errStuck
// if the run in flight was abandoned before the wait.
func (h *handler) startRun(ctx context.Context, limits deadlines) (*runState, error) {
	timeOver, cancel := newTimer(limits.revokeSoft)
	defer cancel()
	if limits.pastSoftRevoke(time.Now()) {
		return nil, errDeadline
	}
	previous := h.lastRun.Load()
	wasAbandoned := previous != nil && previous.abandoned.Load()
	select {
	case h.runSlot <- struct{}{}:
		current := &runState{}
		h.lastRun.Store(current)
		return current, nil
	case <-ctx.Done():
	case <-timeOver:
	}
	if wasAbandoned && h.lastRun.Load() == previous {
		return nil, errStuck
	}
	return nil, errDeadline
}

// deliver runs the pipeline over pages. The pipeline's error is not returned if the run was stopped because its time
// was over: the trackers show which records are not finished.
func (h *handler) deliver(ctx context.Context, limits deadlines, pages []*pipeline.Page) runResult {
	source := &eventSource{pipeline: h.pipeline, pages: pages, deadlines: limits}
	for _, p := range pages {
		source.partitions = append(source.partitions, p.Partition)
	}
	err := h.pipeline.Run(ctx, source, nil)
	source.watching.Wait()

	_, isHardStop := errors.AsType[*pipeline.StopError](err)
	timeIsOver := source.stoppedHard || isHardStop && ctx.Err() != nil
	if timeIsOver && !pipeline.IsFatal(err) {
		err = nil
	}
	return runResult{timedOut: source.timedOut, err: err}
}

// Read returns the next page. It returns io.EOF with the last page, and after it.
func (f *eventSource) Read(context.Context) (*pipeline.Page, error) {
	if len(f.pages) == 0 {
		return nil, io.EOF
	}
	page := f.pages[0]
	f.pages = f.pages[1:]
	if len(f.pages) == 0 {
		return page, io.EOF
	}
	return page, nil
}

// Control starts the goroutine that watches the deadlines. If c is nil, it ends this goroutine.
func (f *eventSource) Control(c pipeline.Control) {
	if f.deadlines.revokeSoft.IsZero() {
		return
	}
	if c == nil {
		close(f.done)
		return
	}
	f.done = make(chan struct{})
	f.watching.Go(func() { f.watch(c) })
}

// watch revokes softly, revokes hard and stops the run, each at its deadline. It returns when the run ends.
func (f *eventSource) watch(c pipeline.Control) {
	if !f.waitUntil(f.deadlines.revokeSoft) {
		return
	}
	c.RevokeSoft(f.partitions...)
	if !f.waitUntil(f.deadlines.revokeHard) {
		return
	}
	c.Revoke(errDeadline, f.partitions...)
	if f.waitUntil(f.deadlines.stop) {
		f.stopHard()
	}
}

// waitUntil waits for a deadline, and notes that the time was over. It returns false if the run ended before.
func (f *eventSource) waitUntil(deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-timer.C:
		f.timedOut = true
		return true
	case <-f.done:
		return false
	}
}

// stopHard stops work that continues after a hard revoke, such as a flush.
func (f *eventSource) stopHard() {
	f.stoppedHard = true
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errDeadline)
	f.pipeline.Stop(ctx)
}
