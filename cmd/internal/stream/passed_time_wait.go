package stream

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// LeaseReader reads the leases and the heartbeats of a pipeline.
type LeaseReader func(ctx context.Context) (leases.Snapshot, error)

// WaitPassed is [leases.WaitPassed] with messages: it writes to w why it waits.
func WaitPassed(ctx context.Context, read LeaseReader, at time.Time, clockSkew time.Duration, w io.Writer) error {
	bar := cli.NewCountProgress(w, "waiting for the stream")
	defer bar.End()
	return leases.WaitPassed(ctx, read, at, clockSkew, func(text string) { fmt.Fprintln(bar, text) })
}
