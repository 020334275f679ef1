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

	// deniedApart is the longest pause between two denials of one period. Retries come sooner than that. So if the
	// pause was longer, the call has succeeded meanwhile or was not made.
	deniedApart = 90 * time.Second
)

// RefusalTracker decides whether a refused call ([Denied]) is tried again. It covers calls of one kind. If no call of
// that kind ever worked, the configuration is wrong, and a refusal is fatal at once. Otherwise a refusal is transient.
// It becomes fatal when one right was refused for [DeniedFor], or when no call succeeded for that long. The zero
// RefusalTracker has seen no call. It is safe for concurrent use.
type RefusalTracker struct {
	mu        sync.Mutex
	hasWorked bool                     // a call has succeeded, or a part of one
	periods   map[string]refusalPeriod // by right (see rightOf)
}

// anyRight is the key in RefusalTracker.periods for the period in which no call succeeded. A success ends this period,
// whatever right the call needed.
const anyRight = ""

// refusalPeriod has the times of the first and of the last refusal of a period.
type refusalPeriod struct{ first, last time.Time }

// Classify receives the result of each call, also nil, and returns the error that the caller must handle. It makes a
// refusal transient or fatal, and returns other errors unchanged. A success ends all periods of refusals.
func (t *RefusalTracker) Classify(err error) error {
	if err == nil {
		t.succeeded()
		return nil
	}
	if !IsDenied(err) {
		return err // another error does not show that the call is allowed
	}
	return t.noteRefusal(err)
}

// classifyAll is Classify for a Write, which has an error for each delivery. It replaces refusals in errs. Deliveries
// can need different rights, so the success of one delivery does not end the period of a single right. The period of a
// right ends when no refusal came for deniedApart, because each refused delivery is retried sooner.
func (t *RefusalTracker) classifyAll(batchErr error, errs []error) error {
	if batchErr != nil {
		return t.Classify(batchErr)
	}
	if slices.Contains(errs, nil) {
		t.partSucceeded()
	}
	for i, err := range errs {
		if err != nil && IsDenied(err) {
			errs[i] = t.noteRefusal(err)
		}
	}
	return nil
}

// succeeded notes that a whole call succeeded.
func (t *RefusalTracker) succeeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasWorked = true
	clear(t.periods)
}

// partSucceeded notes that a part of a call succeeded. It keeps the periods of single rights, because the refused parts
// can need other rights.
func (t *RefusalTracker) partSucceeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasWorked = true
	delete(t.periods, anyRight)
}

// noteRefusal notes a refusal, and returns it as a transient or a fatal error.
func (t *RefusalTracker) noteRefusal(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hasWorked {
		return err
	}
	now := time.Now()
	maps.DeleteFunc(t.periods, func(_ string, period refusalPeriod) bool { return now.Sub(period.last) > deniedApart })
	longest := max(t.extendPeriod(anyRight, now), t.extendPeriod(rightOf(err), now))
	if longest >= DeniedFor {
		return Fatal(&deniedError{longest, err})
	}
	return Transient(err)
}

// extendPeriod extends the period of refusals of a right, or begins one. It returns how long the period has lasted.
func (t *RefusalTracker) extendPeriod(right string, now time.Time) time.Duration {
	if t.periods == nil {
		t.periods = map[string]refusalPeriod{}
	}
	period, hasBegun := t.periods[right]
	if !hasBegun {
		period.first = now
	}
	period.last = now
	t.periods[right] = period
	return now.Sub(period.first)
}

// rightOf returns a text that identifies the refused right: the redacted text of the error inside [Denied]. Two
// refusals of one right have the same text.
func rightOf(err error) string {
	if m, ok := errors.AsType[*classifiedError](err); ok {
		err = m.error
	}
	return redact.LogText(err)
}

// deniedError is a refusal that lasted for DeniedFor.
type deniedError struct {
	refused time.Duration
	err     error
}

func (e *deniedError) prefix() string {
	return fmt.Sprintf("refused for %v, though calls of its kind worked before: ", e.refused.Round(time.Second))
}

func (e *deniedError) Error() string    { return e.prefix() + e.err.Error() }
func (e *deniedError) Redacted() string { return e.prefix() + redact.SafeText(e.err) }
func (e *deniedError) Unwrap() error    { return e.err }
