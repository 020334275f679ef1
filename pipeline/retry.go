package pipeline

import (
	"errors"
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

// Denied marks err as a refusal of the credentials or of what they may do. It is fatal, but
// where the call worked before it is tried again for [DeniedFor]: credentials expire and are
// renewed, rights are changed back.
func Denied(err error) error { return classify(err, denied, 0) }

func classify(err error, c errorClass, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &classifiedError{err, c, d}
}

// Retryable tells whether err is marked as transient or is a timeout, and the
// wait that the server asked for (0: none).
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
