package shardreader

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// retryingAPI is an API that retries transient errors and limits the number of calls in flight. If a call returns an
// error and a part of a page, retryingAPI drops the part: another try returns the whole page.
type retryingAPI struct {
	api       API
	slots     chan struct{}
	attempts  int
	retryable func(error) (after time.Duration, ok bool)
}

var _ API = (*retryingAPI)(nil)

// maxCalls is the maximum number of API calls in flight.
const maxCalls = 8

func newRetryingAPI(
	api API, attempts int, retryable func(error) (after time.Duration, ok bool),
) *retryingAPI {
	return &retryingAPI{api: api, slots: make(chan struct{}, maxCalls), attempts: attempts, retryable: retryable}
}

func (a *retryingAPI) ListStreams(ctx context.Context, table, after string) (StreamPage, error) {
	return callWithRetry(ctx, a, func() (StreamPage, error) { return a.api.ListStreams(ctx, table, after) })
}

func (a *retryingAPI) DescribeStream(ctx context.Context, q DescribeQuery) (StreamDescription, error) {
	return callWithRetry(ctx, a, func() (StreamDescription, error) { return a.api.DescribeStream(ctx, q) })
}

func (a *retryingAPI) GetShardIterator(ctx context.Context, at ShardPosition) (string, error) {
	return callWithRetry(ctx, a, func() (string, error) { return a.api.GetShardIterator(ctx, at) })
}

func (a *retryingAPI) GetRecords(ctx context.Context, q RecordsQuery) (record.GetRecordsPage, error) {
	return callWithRetry(ctx, a, func() (record.GetRecordsPage, error) { return a.api.GetRecords(ctx, q) })
}

// callWithRetry makes a call in a free slot, and tries it again after transient errors.
func callWithRetry[T any](ctx context.Context, a *retryingAPI, call func() (T, error)) (T, error) {
	var zero T
	for attempt := 0; ; attempt++ {
		select {
		case a.slots <- struct{}{}:
		case <-ctx.Done():
			return zero, context.Cause(ctx)
		}
		result, err := call()
		<-a.slots
		if err == nil {
			return result, nil
		}
		requestedWait, isTransient := a.retryable(err)
		isLast := attempt+1 >= a.attempts
		if !isTransient || isLast || ctx.Err() != nil {
			return zero, err
		}
		if err := pipeline.Sleep(ctx, pipeline.Backoff{}.Delay(attempt, requestedWait)); err != nil {
			return zero, err
		}
	}
}
