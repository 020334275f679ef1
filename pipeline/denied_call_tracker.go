package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

const (
	// DeniedFor is how long a call that worked before may be denied. After that the denial is fatal.
	DeniedFor = 5 * time.Minute

	// maxDenialPause is the longest pause between two denials of one period. Retries come sooner. A longer pause means
	// that the call has succeeded meanwhile or was not made.
	maxDenialPause = 90 * time.Second
)

// DenialTracker decides whether a denied call ([Denied]) is tried again. It covers calls of one kind. If no call of
// that kind ever worked, the configuration is wrong, and a denial is fatal at once. Otherwise a denial is transient
// until one of these periods has lasted for [DeniedFor]:
//   - The period of a right begins with the first denial of that right. It ends when a whole call succeeds, or when the
//     right is not denied for maxDenialPause.
//   - The period of all calls begins with the first denial of any right. It ends when a call or a part of one succeeds,
//     or when nothing is denied for maxDenialPause.
//
// The zero DenialTracker has seen no call. It is safe for concurrent use.
type DenialTracker struct {
	mu        sync.Mutex
	hasWorked bool                    // a call has succeeded, or a part of one
	periods   map[string]denialPeriod // by right (see rightOf), and one for allCalls
}

// allCalls is the key in DenialTracker.periods for the period of all calls.
const allCalls = ""

// denialPeriod has the times of the first and of the last denial of a period.
type denialPeriod struct{ first, last time.Time }

// Classify receives the result of each call, also nil, and returns the error that the caller must handle. It makes a
// denial transient or fatal, and returns other errors unchanged. A success ends all periods of denials.
func (t *DenialTracker) Classify(err error) error {
	if err == nil {
		t.succeeded()
		return nil
	}
	if !IsDenied(err) {
		return err // another error does not show that the call is allowed
	}
	return t.noteDenial(err)
}

// classifyAll is Classify for a Write, which has an error for each delivery. It replaces denials in errs. A delivery
// that succeeds says nothing about the rights that other deliveries need, so it does not end the period of a right.
func (t *DenialTracker) classifyAll(batchErr error, errs []error) error {
	if batchErr != nil {
		return t.Classify(batchErr)
	}
	if slices.Contains(errs, nil) {
		t.partSucceeded()
	}
	for i, err := range errs {
		if err != nil && IsDenied(err) {
			errs[i] = t.noteDenial(err)
		}
	}
	return nil
}

// succeeded notes that a whole call succeeded.
func (t *DenialTracker) succeeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasWorked = true
	clear(t.periods)
}

// partSucceeded notes that a part of a call succeeded. It keeps the periods of rights, because the denied parts can
// need other rights.
func (t *DenialTracker) partSucceeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasWorked = true
	delete(t.periods, allCalls)
}

// noteDenial notes a denial, and returns it as a transient or a fatal error.
func (t *DenialTracker) noteDenial(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hasWorked {
		return err // a Denied error is fatal
	}
	now := time.Now()
	hasEnded := func(_ string, period denialPeriod) bool { return now.Sub(period.last) > maxDenialPause }
	maps.DeleteFunc(t.periods, hasEnded)
	longest := max(t.extendPeriod(allCalls, now), t.extendPeriod(rightOf(err), now))
	if longest >= DeniedFor {
		return Fatal(&deniedError{longest, err})
	}
	return Transient(err)
}

// extendPeriod extends the period of a right or of allCalls, or begins one. It returns how long the period has lasted.
func (t *DenialTracker) extendPeriod(right string, now time.Time) time.Duration {
	if t.periods == nil {
		t.periods = map[string]denialPeriod{}
	}
	period, hasBegun := t.periods[right]
	if !hasBegun {
		period.first = now
	}
	period.last = now
	t.periods[right] = period
	return now.Sub(period.first)
}

// rightOf returns a text that identifies the denied right: the redacted text of the error inside [Denied]. Two denials
// of one right have the same text.
func rightOf(err error) string {
	if m, ok := errors.AsType[*classifiedError](err); ok {
		err = m.error
	}
	return redact.LogText(err)
}

// deniedError is a denial that lasted for DeniedFor.
type deniedError struct {
	lasted time.Duration
	err    error
}

func (e *deniedError) prefix() string {
	return fmt.Sprintf("refused for %v, though calls of its kind worked before: ", e.lasted.Round(time.Second))
}

func (e *deniedError) Error() string    { return e.prefix() + e.err.Error() }
func (e *deniedError) Redacted() string { return e.prefix() + redact.SafeText(e.err) }
func (e *deniedError) Unwrap() error    { return e.err }
