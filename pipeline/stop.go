package pipeline

import "fmt"

// StopError is returned by [Pipeline.Run] after a hard stop: what was still
// pending was neither delivered nor committed, and comes again with the next run.
type StopError struct {
	Pending int64 // deliveries, over all sinks
	Cause   error // why it stopped hard
}

// Error counts what was left.
func (e *StopError) Error() string {
	return fmt.Sprintf("stopped hard with %d deliveries pending, which the next run delivers: %v", e.Pending, e.Cause)
}

// Unwrap is the cause.
func (e *StopError) Unwrap() error { return e.Cause }
