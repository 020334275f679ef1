package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
)

// defaultWatchInterval is the interval of --watch without a value. minWatchInterval is the shortest interval, because
// each report reads the lease table and lists the stream.
const (
	defaultWatchInterval = 5 * time.Second
	minWatchInterval     = time.Second
)

// watchInterval is the value of --watch.
type watchInterval time.Duration

// String returns the value of the flag.
func (w *watchInterval) String() string {
	if *w == 0 {
		return ""
	}
	return time.Duration(*w).String()
}

// Type returns the name of the flag's type in the help text.
func (w *watchInterval) Type() string { return "interval" }

// Set sets the value of the flag.
func (w *watchInterval) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < minWatchInterval {
		return fmt.Errorf("%q is not an interval of at least %s, such as 10s", s, minWatchInterval)
	}
	*w = watchInterval(d)
	return nil
}

// watchReports prints a report at each interval until ctx is done. On a terminal each report replaces the report before
// it. Elsewhere the reports follow each other. A failed report is shown and does not end the watch, unless the command
// line or the configuration is wrong. watchReports returns the error of the last report.
func (o *statusOptions) watchReports(ctx context.Context, s cli.Streams) error {
	screen := cli.NewScreen(s.Out)
	interval := time.Duration(o.watch)
	lastErr := interruptedError() // until there is a report
	storeNames := s.Err
	for {
		var page bytes.Buffer
		err := o.report(ctx, cli.Streams{Out: &page, Err: storeNames})
		if ctx.Err() != nil { // the report was interrupted: the report before it stays
			return lastErr
		}
		code := cli.ExitCode(err)
		if code == cli.ExitUsage || code == cli.ExitConfig {
			return err
		}

		lastErr = err
		hasFailed := err != nil && err.Error() != "" // the error of an unhealthy pipeline has no text
		switch {
		case hasFailed:
			fmt.Fprintf(s.Err, "this look failed: %s; the next is in %s\n", err, interval)
			lastErr = cli.WithExitCode(code, nil) // its text is printed
		case o.format != cli.FormatJSON:
			fmt.Fprintf(&page, "\nthe next look is in %s\n", interval)
		}
		storeNames = io.Discard // they are printed once
		if page.Len() > 0 {
			if err := screen.Show(page.String()); err != nil {
				return err
			}
		}
		if pipeline.Sleep(ctx, interval) != nil {
			return lastErr
		}
	}
}

// interruptedError returns the error of a report that was interrupted.
func interruptedError() error {
	return cli.WithExitCode(cli.ExitInterrupted, errors.New("interrupted before all was looked at: the same command looks again"))
}
