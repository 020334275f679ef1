// Package patience retries the steps of a start while servers throttle, answer 5xx or are unreachable, as a running
// process does.
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
	// StartTimeout limits the retries of one step, as those of a running process.
	StartTimeout = 5 * time.Minute

	logEvery = time.Minute
)

// Retry calls do, a step of a start, until it succeeds, fails permanently, or [StartTimeout] has passed. It returns the
// result of the last call. Wait logs a failure once a minute. onFailure, which may be nil, is called at each transient
// failure.
func Retry[T any](
	ctx context.Context, log *slog.Logger, step string, onFailure func(step string, err error), do func() (T, error),
) (T, error) {
	var backoff pipeline.Backoff
	var logged time.Time
	began := time.Now()
	for attempt := 0; ; attempt++ {
		got, err := do()
		after, again := retryDelay(err)
		left := StartTimeout - time.Since(began)
		if err == nil || !again || left <= 0 {
			return got, err
		}
		if onFailure != nil {
			onFailure(step, err)
		}
		if time.Since(logged) >= logEvery {
			logged = time.Now()
			log.LogAttrs(ctx, slog.LevelWarn, "a start waits for a server", slog.String("step", step),
				slog.Duration("for_at_most", left.Round(time.Second)), slog.String("error", err.Error()))
		}
		if pipeline.Sleep(ctx, min(backoff.Delay(attempt, after), left)) != nil {
			return got, err
		}
	}
}

var standardRetryer = retry.NewStandard()

// retryDelay reports whether a retry may succeed, and the delay that the server asked for.
func retryDelay(err error) (time.Duration, bool) {
	if err == nil || pipeline.IsFatal(err) || errors.Is(err, context.Canceled) {
		return 0, false
	}
	if after, ok := pipeline.Retryable(err); ok {
		return after, true
	}
	return 0, standardRetryer.IsErrorRetryable(err) && !errors.As(err, new(*aws.RequestCanceledError))
}
