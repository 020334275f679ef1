package shardreader

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// retryingAPI is an API that retries transient errors and limits the number of calls in flight. It drops the incomplete
// page of a broken response, because the next try returns the whole page.
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

func (c *retryingAPI) ListStreams(ctx context.Context, table, after string) (StreamPage, error) {
	return callWithRetry(ctx, c, func() (StreamPage, error) { return c.api.ListStreams(ctx, table, after) })
}

func (c *retryingAPI) DescribeStream(ctx context.Context, q DescribeQuery) (StreamDescription, error) {
	return callWithRetry(ctx, c, func() (StreamDescription, error) { return c.api.DescribeStream(ctx, q) })
}

func (c *retryingAPI) GetShardIterator(ctx context.Context, at ShardPosition) (string, error) {
	return callWithRetry(ctx, c, func() (string, error) { return c.api.GetShardIterator(ctx, at) })
}

func (c *retryingAPI) GetRecords(ctx context.Context, q RecordsQuery) (record.GetRecordsPage, error) {
	return callWithRetry(ctx, c, func() (record.GetRecordsPage, error) { return c.api.GetRecords(ctx, q) })
}

// callWithRetry makes a call in a free slot, and tries it again after transient errors.
func callWithRetry[T any](ctx context.Context, c *retryingAPI, call func() (T, error)) (T, error) {
	var zero T
	for attempt := 0; ; attempt++ {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return zero, context.Cause(ctx)
		}
		result, err := call()
		<-c.slots
		if err == nil {
			return result, nil
		}
		requestedWait, isTransient := c.retryable(err)
		isLast := attempt+1 >= c.attempts
		if !isTransient || isLast || ctx.Err() != nil {
			return zero, err
		}
		if err := pipeline.Sleep(ctx, pipeline.Backoff{}.Delay(attempt, requestedWait)); err != nil {
			return zero, err
		}
	}
}
