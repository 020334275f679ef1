package main

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
)

// readBefore says how leases show that the pipeline has read its stream; "": they do not. See [sinks.ReadBefore].
func (t *target) readBefore(ctx context.Context, cfg *config.Config) (string, error) {
	if t.live && cfg.Leases == nil {
		return "", nil
	}
	path, err := t.leaseFile(cfg)
	if err != nil {
		return "", err
	}
	if path != "" {
		seen, _, err := leasesfile.Look(path)
		return readText(seen, path), err
	}
	sdk, err := loadAWS(ctx)
	if err != nil {
		return "", err
	}
	table, err := openLeaseTable(ctx, sdk, cfg, false)
	if err != nil {
		return "", err
	}
	seen, err := trying(ctx, func() (leases.Snapshot, error) { return table.Read(ctx) })
	return readText(seen, "table "+cfg.Leases.Table), err
}

// readText is readBefore for leases in the place where. Shards that only another application read, whose
// leases the pipeline takes over, do not count.
func readText(seen leases.Snapshot, where string) string {
	shard, n := seen.Consumed()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("leases in %s say that the stream was read (%s is one of %d shards), and the state knows nothing of any output: the state was lost", where, shard, n)
}
