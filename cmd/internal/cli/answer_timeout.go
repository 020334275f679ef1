package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// NoAnswerError is the cause of a context that ended because a service did not answer. Its value is how long the caller
// waited.
type NoAnswerError time.Duration

// Error returns the text with the time.
func (n NoAnswerError) Error() string { return "no answer for " + time.Duration(n).String() }

// Unwrap returns [context.DeadlineExceeded].
func (n NoAnswerError) Unwrap() error { return context.DeadlineExceeded }

// WithAnswerTimeout returns a ctx that ends with a [NoAnswerError] after d.
func WithAnswerTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, NoAnswerError(d))
}

// ExplainTimeout adds the [NoAnswerError] that ended ctx to err, because many errors only say that a context ended. It
// returns err unchanged if err already shows the cause, or if ctx has no such cause.
func ExplainTimeout(ctx context.Context, err error) error {
	cause, timedOut := errors.AsType[NoAnswerError](context.Cause(ctx))
	if err == nil || !timedOut || strings.Contains(err.Error(), cause.Error()) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}
