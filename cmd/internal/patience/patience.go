// Package patience retries the steps of a start after transient errors: a server throttles, answers 5xx or is
// unreachable. A running process retries after the same errors.
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
	// StartTimeout is the time after which the retries of one step end.
	StartTimeout = 5 * time.Minute

	logEvery = time.Minute
)

// Retry calls do, which is a step of a start. It repeats the call after transient errors, until [StartTimeout] has
// passed or ctx is done, and returns the result of the last call. Before each repetition it calls onFailure, which may
// be nil. It logs a failure at most once a minute.
func Retry[T any](
	ctx context.Context, log *slog.Logger, step string, onFailure func(step string, err error), do func() (T, error),
) (T, error) {
	var backoff pipeline.Backoff
	var logged time.Time
	began := time.Now()
	for attempt := 0; ; attempt++ {
		result, err := do()
		delay, retryable := retryDelay(err)
		timeLeft := StartTimeout - time.Since(began)
		if err == nil || !retryable || timeLeft <= 0 {
			return result, err
		}
		if onFailure != nil {
			onFailure(step, err)
		}
		if time.Since(logged) >= logEvery {
			logged = time.Now()
			log.LogAttrs(ctx, slog.LevelWarn, "a start waits for a server", slog.String("step", step),
				slog.Duration("for_at_most", timeLeft.Round(time.Second)), slog.String("error", err.Error()))
		}
		if pipeline.Sleep(ctx, min(backoff.Delay(attempt, delay), timeLeft)) != nil {
			return result, err
		}
	}
}

var standardRetryer = retry.NewStandard()

// retryDelay reports whether a retry after err may succeed, and returns the delay that the server asked for; 0 if it
// asked for none.
func retryDelay(err error) (delay time.Duration, retryable bool) {
	if err == nil || pipeline.IsFatal(err) || errors.Is(err, context.Canceled) {
		return 0, false
	}
	if delay, ok := pipeline.Retryable(err); ok {
		return delay, true
	}
	return 0, standardRetryer.IsErrorRetryable(err) && !errors.As(err, new(*aws.RequestCanceledError))
}
