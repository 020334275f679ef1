package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// StopError is returned by [Pipeline.Run] after a hard stop. Pending deliveries were neither delivered nor committed:
// the next run delivers them.
type StopError struct {
	Pending int64 // number of pending deliveries, over all sinks
	Cause   error // why the run stopped hard
}

// Error reports the number of pending deliveries, and the cause.
func (e *StopError) Error() string {
	return fmt.Sprintf("stopped hard with %d deliveries pending, which the next run delivers: %v", e.Pending, e.Cause)
}

// Unwrap returns the cause.
func (e *StopError) Unwrap() error { return e.Cause }

// Stop stops a Run softly. Once ctx is done, it stops the Run hard. It returns after the Run has returned. If the
// pipeline does not run, Stop does nothing.
func (p *Pipeline) Stop(ctx context.Context) {
	p.mu.Lock()
	r, ended := p.run, p.ended
	p.mu.Unlock()
	if r == nil {
		return
	}
	r.cancelSoft(errStopped)
	select {
	case <-ended:
	case <-ctx.Done():
		r.cancelHard(context.Cause(ctx))
		<-ended
	}
}

var errStopped = errs.New("Stop was called")

// flush calls Flush of the sinks, after all Writes.
func (r *run) flush() error {
	var failures []error
	for _, s := range r.schedulers {
		flusher, ok := s.route.Sink.(Flusher)
		if !ok || r.hardCtx.Err() != nil {
			continue
		}
		if err := r.flushSink(s.route, flusher); err != nil {
			failures = append(failures, fmt.Errorf("%s: flush: %w", s.route.stage, err))
		}
	}
	return errors.Join(failures...)
}

// flushSink calls Flush until it succeeds, fails with an error that is not transient, or the run stops hard.
func (r *run) flushSink(sink *route, flusher Flusher) error {
	for attempt := 0; ; attempt++ {
		err := guard(sink.stage, nil, func() error { return flusher.Flush(r.hardCtx) })
		if err == nil {
			return nil // this does not end a period of denials: with nothing to flush, Flush makes no call
		}
		err = sink.denials.Classify(err)
		if !isTransient(err) || !r.waitToRetry(r.hardCtx, attempt, err) {
			return err
		}
	}
}

// result returns the error of Run, after all goroutines of the run have ended. This is the fatal error alone, if there
// is one. Otherwise it joins the errors of the source and of Flush, and a [StopError] if the run is not complete.
func (r *run) result(flushErr error) error {
	r.p.mu.Lock()
	fatal, srcErr, unfinishedPages, isComplete := r.fatal, r.srcErr, r.unfinished, r.isComplete()
	r.p.mu.Unlock()
	if fatal == nil && isComplete {
		return errors.Join(srcErr, flushErr)
	}
	var pending int64
	for _, sink := range r.p.Ledger().Sinks {
		pending += sink.Pending
	}
	cause := cmp.Or(fatal, context.Cause(r.hardCtx))
	r.p.log.LogAttrs(context.WithoutCancel(r.hardCtx), slog.LevelWarn, "stopped hard: the next run delivers what is pending",
		slog.Int64("pending", pending), slog.Int("pages", unfinishedPages), slog.String("cause", redact.LogText(cause)))
	if fatal != nil {
		return fatal
	}
	return errors.Join(&StopError{Pending: pending, Cause: cause}, srcErr, flushErr)
}

// isComplete reports whether all pages are finished and committed.
func (r *run) isComplete() bool {
	for _, part := range r.partitions {
		if part.uncommitted {
			return false
		}
	}
	return r.unfinished == 0
}
