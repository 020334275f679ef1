package page

import (
	"context"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline"
)

// ReportCache keeps the newest report of a fleet. A look reads stores, so Looks makes one only while reports are
// requested.
type ReportCache struct {
	look   func(context.Context) (*fleet.Report, error)
	pause  time.Duration
	wanted chan struct{} // has one element if a report was requested since the last look began

	mu      sync.Mutex
	report  *fleet.Report // the report of the last look that succeeded
	problem string        // the error of the last look; "": it succeeded
	ended   time.Time     // time when the last look ended; zero: none has
	next    chan struct{} // closed when the next look ends
}

// NewLooks returns a Looks that pauses after each look. problem returns the text of an error.
func NewLooks(
	pause time.Duration, problem func(error) string, look func(context.Context) (*fleet.Report, error),
) *ReportCache {
	l := &ReportCache{pause: pause, wanted: make(chan struct{}, 1), next: make(chan struct{})}
	l.look = func(ctx context.Context) (*fleet.Report, error) {
		r, err := look(ctx)
		if ctx.Err() != nil {
			return r, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = time.Now()
		if l.problem = ""; err != nil {
			l.problem = problem(err)
		} else {
			l.report = r
		}
		close(l.next)
		l.next = make(chan struct{})
		return r, err
	}
	return l
}

// Latest returns the report of the last look that succeeded, with its age in At, and the error of a later look if it
// failed less than staleAfter ago. It never blocks, and makes Run look again. The caller must not change the report.
func (l *ReportCache) Latest() (report *fleet.Report, problem string) {
	l.wakeRun()
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.ended) > staleAfter {
		return l.report, ""
	}
	return l.report, l.problem
}

// Within returns the result of a look that ended at most age ago: a report, or the error. If there is none, it waits
// for the next look. If ctx ends first, the error says so.
func (l *ReportCache) Within(ctx context.Context, age time.Duration) (report *fleet.Report, problem string) {
	for {
		l.wakeRun()
		l.mu.Lock()
		report, problem = l.report, l.problem
		recent, next := !l.ended.IsZero() && time.Since(l.ended) <= age, l.next
		l.mu.Unlock()
		switch {
		case recent && problem != "":
			return nil, problem
		case recent:
			return report, ""
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, "the stores are still being read: ask again"
		}
	}
}

// wakeRun makes Run look again.
func (l *ReportCache) wakeRun() {
	select {
	case l.wanted <- struct{}{}:
	default:
	}
}

// Run makes a new report after calls of Latest and Within, until ctx is done.
func (l *ReportCache) Run(ctx context.Context) {
	for {
		select {
		case <-l.wanted:
		case <-ctx.Done():
			return
		}
		_, _ = l.look(ctx) // Latest returns both results
		if pipeline.Sleep(ctx, l.pause) != nil {
			return
		}
	}
}
