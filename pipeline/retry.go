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

// Transient marks err as worth retrying. A nil err stays nil.
func Transient(err error) error { return classify(err, transient, 0) }

// RetryAfter marks err as worth retrying, not before the wait d that the server asked for.
func RetryAfter(err error, d time.Duration) error { return classify(err, transient, d) }

// Permanent marks err as not worth retrying, whatever it wraps.
func Permanent(err error) error { return classify(err, permanent, 0) }

// Fatal marks err as one that no delivery can survive: the pipeline stops.
func Fatal(err error) error { return classify(err, fatal, 0) }

// Denied marks err as a refusal of the credentials or of what they may do. It is fatal, but where the call worked
// before it is tried again for [DeniedFor]: credentials expire and are renewed, rights are changed back.
func Denied(err error) error { return classify(err, denied, 0) }

func classify(err error, c errorClass, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &classifiedError{err, c, d}
}

// Retryable tells whether err is marked as transient or is a timeout, and the wait that the server asked for (0: none).
func Retryable(err error) (after time.Duration, ok bool) {
	if err == nil {
		return 0, false // as nearly always: it is asked of every delivery
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

// IsFatal tells whether err is marked with Fatal or Denied.
func IsFatal(err error) bool {
	m, found := errors.AsType[*classifiedError](err)
	return found && (m.class == fatal || m.class == denied)
}

// IsDenied tells whether err is marked with Denied.
func IsDenied(err error) bool {
	m, found := errors.AsType[*classifiedError](err)
	return found && m.class == denied
}

// Backoff spaces retries: full jitter between 0 and min(Max, Base << attempt), never less than the server's wait.
type Backoff struct {
	Base time.Duration // Default: 100ms
	Max  time.Duration // Default: 30s
}

func (b Backoff) withDefaults() Backoff {
	return Backoff{cmp.Or(b.Base, 100*time.Millisecond), cmp.Or(b.Max, 30*time.Second)}
}

// Delay is the wait before the retry that follows attempt (0: the first try), at least the server's.
func (b Backoff) Delay(attempt int, server time.Duration) time.Duration {
	return b.withDefaults().delay(attempt, server)
}

// delay is Delay with the defaults filled in.
func (b Backoff) delay(attempt int, server time.Duration) time.Duration {
	top := b.Max
	if attempt < 32 && b.Base<<attempt > 0 {
		top = min(top, b.Base<<attempt)
	}
	return max(server, rand.N(top+1))
}

// Sleep waits for d and returns nil, or the cause of ctx if that ends first.
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
