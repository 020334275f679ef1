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
	described, ok := errors.AsType[interface {
		error
		Describe() (class, field string)
	}](err)
	if ok {
		class, _ := described.Describe()
		if class == "throttled" {
			return true
		}
	}
	return awserr.IsThrottled(err)
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
