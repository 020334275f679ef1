package stream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesdynamo "github.com/tablewake/tablewake/shardreader/leases/dynamo"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/aws"
)

// LeaseFile returns the file of cfg's leases, "" if they are in a table. With --local they are in the folder,
// whatever cfg says: a local try takes no shard from the consumers of cfg.
func LeaseFile(t *target.Flags, cfg *config.Config) (string, error) {
	switch {
	case !t.Live:
		return filepath.Join(t.Local, "leases.json"), nil
	case cfg.Leases == nil:
		return "", fmt.Errorf("%s has no leases: add leases: {table: NAME}, or leases: {file: PATH} for one consumer alone", cfg.File)
	}
	return cfg.Leases.File, nil
}

// OpenLeaseTable opens the table of cfg's leases, and creates it if create is set.
func OpenLeaseTable(ctx context.Context, sdk awssdk.Config, cfg *config.Config, create bool) (*leasesdynamo.Table, error) {
	err := errors.Join(aws.SameRegion("leases.table", cfg.Leases.Table.ARN, sdk), aws.SameRegion("state.table", cfg.State.Table.ARN, sdk))
	if err != nil {
		return nil, err
	}
	table, err := NewLeaseTable(sdk, cfg)
	if err != nil {
		return nil, err
	}
	if create {
		return table, table.CreateTables(ctx)
	}
	return table, table.Check(ctx)
}

// NewLeaseTable returns the table of cfg's leases. It makes no call.
func NewLeaseTable(sdk awssdk.Config, cfg *config.Config) (*leasesdynamo.Table, error) {
	return leasesdynamo.New(leasesdynamo.Options{
		Client: dynamodb.NewFromConfig(sdk), Table: cfg.Leases.Table.Name, State: cfg.State.Table.Name, Pipeline: cfg.Name,
		Streams: len(cfg.Source.Tables) > 1,
	})
}

// LeaseDuration returns how long a consumer of cfg can be silent.
func LeaseDuration(cfg *config.Config) time.Duration {
	if cfg.Leases == nil {
		return 6 * time.Second
	}
	return cfg.Leases.Duration
}

// ReadBefore says how leases show that the pipeline has read its stream; "": they do not. See [sinks.ReadBefore].
func ReadBefore(ctx context.Context, t *target.Flags, cfg *config.Config) (string, error) {
	if t.Live && cfg.Leases == nil {
		return "", nil
	}
	path, err := LeaseFile(t, cfg)
	if err != nil {
		return "", err
	}
	if path != "" {
		seen, _, err := leasesfile.ReadUnlocked(path)
		return ReadText(seen, path), err
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return "", err
	}
	table, err := OpenLeaseTable(ctx, sdk, cfg, false)
	if err != nil {
		return "", err
	}
	seen, err := Trying(ctx, func() (leases.Snapshot, error) { return table.Read(ctx) })
	return ReadText(seen, "table "+cfg.Leases.Table.Name), err
}

// ReadText is [ReadBefore] for leases in the place where. Shards that only another application read, whose
// leases the pipeline takes over, do not count.
func ReadText(seen leases.Snapshot, where string) string {
	shard, n := seen.Consumed()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("leases in %s say that the stream was read (%s is one of %d shards), and the state knows nothing of any output: the state was lost", where, shard, n)
}
