package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// NoAnswer is the cause of a context that ended because a service did not answer for that time.
type NoAnswer time.Duration

// Error returns the text with the time.
func (n NoAnswer) Error() string { return "no answer for " + time.Duration(n).String() }

// Unwrap returns [context.DeadlineExceeded].
func (n NoAnswer) Unwrap() error { return context.DeadlineExceeded }

// WithPatience returns a ctx that ends with a [NoAnswer] after d.
func WithPatience(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, NoAnswer(d))
}

// ExplainTimeout adds the [NoAnswer] that ended ctx to an error that does not show it. Many errors only say that a
// context ended.
func ExplainTimeout(ctx context.Context, err error) error {
	cause, late := errors.AsType[NoAnswer](context.Cause(ctx))
	if err != nil && late && !strings.Contains(err.Error(), cause.Error()) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
