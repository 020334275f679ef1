package worker

import (
	"errors"
	"time"
)

// Worker is one worker of a fleet. It is no more than its state: one goroutine at a time.
type Worker struct {
	o Options
}

// New checks the options and makes a worker, which does nothing before its first Step.
func New(o Options) (*Worker, error) {
	switch {
	case o.Worker == "":
		return nil, errors.New("worker: Options.Worker is empty")
	case len(o.Sources) == 0:
		return nil, errors.New("worker: Options.Sources is empty: name a table or a stream")
	}
	return &Worker{o: o}, nil
}

// Step takes in an event that happened at now, and returns what follows. now is a
// clock of the worker's own that never goes back: the time since it was made. The
// slice is valid until the next Step.
func (w *Worker) Step(now time.Duration, e Event) []Action { return nil }

// Wake is when the next Tick is due, at the latest.
func (w *Worker) Wake() time.Duration { return 0 }
