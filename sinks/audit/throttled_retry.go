package audit

import (
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
)

// IsThrottled reports whether a call failed because the service or the store throttled it.
func IsThrottled(err error) bool {
	if described, ok := errors.AsType[describedError](err); ok {
		if class, _ := described.Describe(); class == "throttled" {
			return true
		}
	}
	return awserr.IsThrottled(err)
}

// describedError is the error of a store that names its class.
type describedError interface {
	error
	Describe() (class, field string)
}

// ThrottledWait is the wait before a throttled call is made again.
var ThrottledWait = pipeline.Backoff{Base: 100 * time.Millisecond, Max: 20 * time.Second}

// RetryThrottled repeats a call while it is throttled. It returns the error of the last call, or the cause of ctx. It
// calls throttled, if that is not nil, before each wait.
func RetryThrottled(ctx context.Context, throttled func(err error, wait time.Duration), call func() error) error {
	for attempt := 0; ; attempt++ {
		err := call()
		if !IsThrottled(err) {
			return err
		}
		wait := ThrottledWait.Delay(attempt, 0)
		if throttled != nil {
			throttled(err, wait)
		}
		if err := pipeline.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}
