// Package patience waits out at a start what a running process waits out: servers that throttle, answer 5xx or are away.
package patience

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/tablewake/tablewake/pipeline"
)

const (
	// Start is how long a start waits for servers, as long as a running process does.
	Start = 5 * time.Minute

	tellEvery = time.Minute
)

// Wait makes a step of a start until it succeeds, or fails in a way that no retry helps, for [Start] at most: then the error is
// that of the last try. It logs the first failure, and again each minute; tell, which may be nil, is told of each.
func Wait[T any](ctx context.Context, log *slog.Logger, step string, tell func(step string, err error), do func() (T, error)) (T, error) {
	var backoff pipeline.Backoff
	var told time.Time
	began := time.Now()
	for attempt := 0; ; attempt++ {
		got, err := do()
		after, again := transient(err)
		left := Start - time.Since(began)
		if err == nil || !again || left <= 0 {
			return got, err
		}
		if tell != nil {
			tell(step, err)
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			log.LogAttrs(ctx, slog.LevelWarn, "a start waits for a server", slog.String("step", step), slog.Duration("for_at_most", left.Round(time.Second)), slog.String("error", err.Error()))
		}
		if pipeline.Sleep(ctx, min(backoff.Delay(attempt, after), left)) != nil {
			return got, err
		}
	}
}

var standard = retry.NewStandard()

// transient tells whether another try may succeed, and when it may be made.
func transient(err error) (time.Duration, bool) {
	if err == nil || pipeline.IsFatal(err) || errors.Is(err, context.Canceled) {
		return 0, false
	}
	if after, ok := pipeline.Retryable(err); ok {
		return after, true
	}
	return 0, standard.IsErrorRetryable(err) && !errors.As(err, new(*aws.RequestCanceledError))
}
