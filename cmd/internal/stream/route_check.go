package stream

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// CheckRoutes returns an error that names the live consumers whose sinks are not those of cfg. The changes that such a
// consumer acknowledges are missing in the sinks that it lacks. CheckRoutes watches the heartbeats for the time
// silence, and prints to w that it waits. A consumer without a heartbeat in that time is not live.
func CheckRoutes(
	ctx context.Context, read LeaseReader, silence time.Duration, cfg *config.Config, w io.Writer,
) error {
	fmt.Fprintf(w, "watching for %s which consumers live, and whether they have the sinks of %s\n", silence, cfg.File)
	before, err := read(ctx)
	if err != nil {
		return err
	}
	if err := pipeline.Sleep(ctx, silence); err != nil {
		return err
	}
	now, err := read(ctx)
	if err != nil {
		return err
	}
	heartbeatsBefore, digest := before.Heartbeats(), sinks.RoutesDigest(cfg)
	var others []string
	for _, m := range now.Members {
		heartbeat, isKnown := heartbeatsBefore[m.ID]
		isLive := !isKnown || heartbeat != m.Heartbeat
		if isLive && m.RoutesDigest != digest {
			others = append(others, m.ID)
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return fmt.Errorf(
		"the consumers %s write to other sinks than those of this file: a change that they acknowledge would be missing in a sink that they lack; deploy the file to them, and repeat the command", strings.Join(others, ", "))
}
