package page

import (
	"context"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline"
)

// Looks keeps the newest report of a fleet. It looks only while somebody asks: a look reads stores.
type Looks struct {
	look   func(context.Context) (*fleet.Report, error)
	pause  time.Duration
	wanted chan struct{} // has one element if somebody asked since the last look began

	mu     sync.Mutex
	report *fleet.Report // of the last look that succeeded
	err    string        // of the last look; "": it succeeded
}

// NewLooks returns a Looks that waits for pause after each look. problem makes the text of an error.
func NewLooks(pause time.Duration, problem func(error) string, look func(context.Context) (*fleet.Report, error)) *Looks {
	l := &Looks{pause: pause, wanted: make(chan struct{}, 1)}
	l.look = func(ctx context.Context) (*fleet.Report, error) {
		r, err := look(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			l.err = problem(err)
		default:
			l.report, l.err = r, ""
		}
		return r, err
	}
	return l
}

// Latest returns the report of the last look, and the error of a later one that failed. It never blocks, and has Run
// look again. Nobody may change the report.
func (l *Looks) Latest() (report *fleet.Report, problem string) {
	select {
	case l.wanted <- struct{}{}:
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.report, l.err
}

// Run makes a new report after calls of Latest, until ctx is done.
func (l *Looks) Run(ctx context.Context) {
	for {
		select {
		case <-l.wanted:
		case <-ctx.Done():
			return
		}
		_, _ = l.look(ctx) // Latest returns both
		if pipeline.Sleep(ctx, l.pause) != nil {
			return
		}
	}
}
