package state

import "github.com/tablewake/tablewake/pipeline"

// IsPermanent reports whether a store refuses a write permanently: err is neither transient nor fatal.
func IsPermanent(err error) bool {
	_, again := pipeline.Retryable(err)
	return err != nil && !again && !pipeline.IsFatal(err)
}
