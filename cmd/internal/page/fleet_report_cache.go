package page

import (
	"context"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline"
)

// ReportCache keeps the newest report of a fleet. A report is made from one read of the stores that all consumers
// share. [ReportCache.Run] reads them only after a report was requested.
type ReportCache struct {
	read   func(context.Context) (*fleet.Report, error)
	format func(error) string // returns the text of an error of read
	pause  time.Duration      // after each read
	wanted chan struct{}      // holds an element if a report was requested since the last read began

	mu      sync.Mutex
	report  *fleet.Report // report of the last read that succeeded; nil: none has
	problem string        // error of the last read; "": the read succeeded
	ended   time.Time     // when the last read ended; zero: none has
	next    chan struct{} // closed when the next read ends
}

// NewReportCache returns a ReportCache that makes reports with read and pauses after each call of read. format returns
// the text of an error of read for the page.
func NewReportCache(
	pause time.Duration, format func(error) string, read func(context.Context) (*fleet.Report, error),
) *ReportCache {
	return &ReportCache{read: read, format: format, pause: pause, wanted: make(chan struct{}, 1),
		next: make(chan struct{})}
}

// refresh reads a report, and stores it or the error. It stores nothing if ctx ended.
func (c *ReportCache) refresh(ctx context.Context) {
	report, err := c.read(ctx)
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = time.Now()
	if err != nil {
		c.problem = c.format(err)
	} else {
		c.report, c.problem = report, ""
	}
	close(c.next)
	c.next = make(chan struct{})
}

// Latest returns the report of the last read that succeeded; nil if none has. The report's At is the time of that read.
// problem is the error of the last read if it failed less than staleAfter ago, and otherwise "". Latest never blocks,
// and makes Run read again. The caller must not change the report.
func (c *ReportCache) Latest() (report *fleet.Report, problem string) {
	c.wakeRun()
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.ended) > staleAfter {
		return c.report, ""
	}
	return c.report, c.problem
}

// Recent returns the result of a read that ended at most age ago. The result is a report, or nil and a problem. If the
// last read is older, Recent waits for the next one. If ctx ends first, problem says so.
func (c *ReportCache) Recent(ctx context.Context, age time.Duration) (report *fleet.Report, problem string) {
	for {
		c.wakeRun()
		c.mu.Lock()
		report, problem = c.report, c.problem
		isRecent := !c.ended.IsZero() && time.Since(c.ended) <= age
		next := c.next
		c.mu.Unlock()
		switch {
		case isRecent && problem != "":
			return nil, problem
		case isRecent:
			return report, ""
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, "the stores are still being read: ask again"
		}
	}
}

// wakeRun makes Run read again.
func (c *ReportCache) wakeRun() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

// Run reads reports after calls of Latest and Recent, until ctx is done. Calls during a read cause only one more read.
func (c *ReportCache) Run(ctx context.Context) {
	for {
		select {
		case <-c.wanted:
		case <-ctx.Done():
			return
		}
		c.refresh(ctx)
		if pipeline.Sleep(ctx, c.pause) != nil {
			return
		}
	}
}
