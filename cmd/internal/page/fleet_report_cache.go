package page

import (
	"context"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline"
)

// ReportCache keeps the newest report of a fleet. A report is made by a look, which reads the stores that all consumers
// share. [ReportCache.Run] looks only after a report was requested.
type ReportCache struct {
	read   func(context.Context) (*fleet.Report, error)
	format func(error) string // returns the text of an error of read
	pause  time.Duration      // after each look
	wanted chan struct{}      // holds an element if a report was requested since the last look began

	mu      sync.Mutex
	report  *fleet.Report // report of the last look that succeeded; nil: none has
	problem string        // error of the last look; "": the look succeeded
	ended   time.Time     // when the last look ended; zero: none has
	next    chan struct{} // closed when the next look ends
}

// NewReportCache returns a ReportCache that makes reports with look and pauses after each call of look. problem formats
// an error of look for the page.
func NewReportCache(
	pause time.Duration, problem func(error) string, look func(context.Context) (*fleet.Report, error),
) *ReportCache {
	return &ReportCache{read: look, format: problem, pause: pause, wanted: make(chan struct{}, 1),
		next: make(chan struct{})}
}

// look reads a report, and stores it or the error. It stores nothing if ctx ended.
func (l *ReportCache) look(ctx context.Context) {
	report, err := l.read(ctx)
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = time.Now()
	if err != nil {
		l.problem = l.format(err)
	} else {
		l.report, l.problem = report, ""
	}
	close(l.next)
	l.next = make(chan struct{})
}

// Latest returns the report of the last look that succeeded; nil if none has. The report's At is the time of that look.
// problem is the error of the last look if that look failed less than staleAfter ago, and otherwise "". Latest never
// blocks, and makes Run look again. The caller must not change the report.
func (l *ReportCache) Latest() (report *fleet.Report, problem string) {
	l.wakeRun()
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.ended) > staleAfter {
		return l.report, ""
	}
	return l.report, l.problem
}

// Recent returns the result of a look that ended at most age ago. The result is a report, or nil and a problem. If the
// last look is older, Recent waits for the next look. If ctx ends first, problem says so.
func (l *ReportCache) Recent(ctx context.Context, age time.Duration) (report *fleet.Report, problem string) {
	for {
		l.wakeRun()
		l.mu.Lock()
		report, problem = l.report, l.problem
		isRecent := !l.ended.IsZero() && time.Since(l.ended) <= age
		next := l.next
		l.mu.Unlock()
		if isRecent && problem != "" {
			return nil, problem
		}
		if isRecent {
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

// Run looks after calls of Latest and Recent, until ctx is done. Calls during a look cause only one more look.
func (l *ReportCache) Run(ctx context.Context) {
	for {
		select {
		case <-l.wanted:
		case <-ctx.Done():
			return
		}
		l.look(ctx)
		if pipeline.Sleep(ctx, l.pause) != nil {
			return
		}
	}
}
