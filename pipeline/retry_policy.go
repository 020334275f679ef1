package pipeline

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

type classifiedError struct {
	error
	class errorClass
	after time.Duration
}

type errorClass uint8

const (
	permanent errorClass = iota
	transient
	fatal
	denied
)

func (m *classifiedError) Unwrap() error { return m.error }

// Transient marks err as worth a retry. A nil err stays nil.
func Transient(err error) error { return classify(err, transient, 0) }

// RetryAfter marks err as worth a retry, after the wait d that the server requested. A nil err stays nil.
func RetryAfter(err error, d time.Duration) error { return classify(err, transient, d) }

// Permanent marks err as not worth a retry, even if err wraps a transient error. A nil err stays nil.
func Permanent(err error) error { return classify(err, permanent, 0) }

// Fatal marks err as an error that concerns all deliveries. It stops the pipeline. A nil err stays nil.
func Fatal(err error) error { return classify(err, fatal, 0) }

// Denied marks err as a denial: credentials or rights were refused. It is fatal if the call never worked. If the call
// worked before, it is tried again for [DeniedFor], because credentials expire and are renewed, and rights can be
// restored. A nil err stays nil.
func Denied(err error) error { return classify(err, denied, 0) }

func classify(err error, c errorClass, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &classifiedError{err, c, d}
}

// Retryable reports whether err is marked as transient, or has no mark and is a timeout. It also returns the wait that
// the server requested, or 0 if the server requested none.
func Retryable(err error) (after time.Duration, ok bool) {
	if err == nil {
		return 0, false // checked first: Retryable is called for every delivery, and most have no error
	}
	if m, found := errors.AsType[*classifiedError](err); found {
		return m.after, m.class == transient
	}
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		return 0, true
	}
	return 0, false
}

func isTransient(err error) bool {
	_, ok := Retryable(err)
	return ok
}

// IsFatal reports whether err is marked with Fatal or Denied.
func IsFatal(err error) bool {
	m, found := errors.AsType[*classifiedError](err)
	return found && (m.class == fatal || m.class == denied)
}

// IsDenied reports whether err is marked with Denied.
func IsDenied(err error) bool {
	m, found := errors.AsType[*classifiedError](err)
	return found && m.class == denied
}

// Backoff computes the wait between tries. It is a random time between 0 and min(Max, Base << attempt), but at least
// the wait that the server requested.
type Backoff struct {
	Base time.Duration // Default: 100ms
	Max  time.Duration // Default: 30s
}

// Delay returns the wait after a failed try. attempt is 0 after the first try. server is the wait that the server
// requested; the result is at least as long.
func (b Backoff) Delay(attempt int, server time.Duration) time.Duration {
	base, top := cmp.Or(b.Base, 100*time.Millisecond), cmp.Or(b.Max, 30*time.Second)
	if attempt < 32 && base<<attempt > 0 {
		top = min(top, base<<attempt)
	}
	return max(server, rand.N(top+1))
}

// Retry calls try until it succeeds, fails with an error that is not transient, or ctx ends. Then it returns nil, the
// error, or the cause of ctx. After each transient failure it calls failed, and then waits.
func (b Backoff) Retry(ctx context.Context, failed func(err error, wait time.Duration), try func() error) error {
	for attempt := 0; ; attempt++ {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		after, transient := Retryable(err)
		if !transient {
			return err
		}
		wait := b.Delay(attempt, after)
		failed(err, wait)
		if err := Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// Sleep waits for d and returns nil. If ctx ends first, it returns the cause of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
