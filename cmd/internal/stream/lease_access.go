package stream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesdynamo "github.com/tablewake/tablewake/shardreader/leases/dynamo"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/aws"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// LeaseFile returns the path of the lease file; "" if the leases are in a table. With --local the file is always in the
// folder, so that a local run takes no shard from the consumers of cfg.
func LeaseFile(t *target.Flags, cfg *config.Config) (string, error) {
	switch {
	case !t.Live:
		return filepath.Join(t.Local, "leases.json"), nil
	case cfg.Leases == nil:
		return "", fmt.Errorf("%s has no leases: add leases: {table: NAME}, or leases: {file: PATH} for one consumer alone",
			cfg.File)
	}
	return cfg.Leases.File, nil
}

// OpenLeaseTable opens the lease table of cfg. If create is set, it creates the lease table and the state table if they
// are missing. It returns an error if one of the two tables is not usable.
func OpenLeaseTable(
	ctx context.Context, sdk awssdk.Config, cfg *config.Config, create bool,
) (*leasesdynamo.Table, error) {
	err := errors.Join(aws.SameRegion("leases.table", cfg.Leases.Table.ARN, sdk),
		aws.SameRegion("state.table", cfg.State.Table.ARN, sdk))
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

// IsNoLeaseTable reports whether err means that cfg's lease table does not exist.
func IsNoLeaseTable(err error, cfg *config.Config) bool {
	_, missing := errors.AsType[*types.ResourceNotFoundException](err)
	tableErr, ok := errors.AsType[*statedynamo.Error](err)
	return missing && ok && tableErr.Table == cfg.Leases.Table.Name
}

// NewLeaseTable returns the lease table of cfg without a call to DynamoDB, so the table may be missing.
func NewLeaseTable(sdk awssdk.Config, cfg *config.Config) (*leasesdynamo.Table, error) {
	return leasesdynamo.New(leasesdynamo.Options{
		Client: dynamodb.NewFromConfig(sdk), Table: cfg.Leases.Table.Name, StateTable: cfg.State.Table.Name,
		Pipeline: cfg.Name, Streams: len(cfg.Source.Tables) > 1,
	})
}

// LeaseDuration returns the time without a heartbeat after which other consumers take the shards of a consumer.
func LeaseDuration(cfg *config.Config) time.Duration {
	if cfg.Leases == nil {
		return 6 * time.Second
	}
	return cfg.Leases.Duration
}

// leaseFileSilence is the time without a new heartbeat after which a consumer with a lease file counts as dead. An idle
// consumer writes the file every ten seconds.
const leaseFileSilence = 13 * time.Second

// MaxSilence returns the longest time that a live consumer can be without a new heartbeat.
func MaxSilence(t *target.Flags, cfg *config.Config) time.Duration {
	if path, err := LeaseFile(t, cfg); err == nil && path != "" {
		return max(LeaseDuration(cfg), leaseFileSilence)
	}
	return LeaseDuration(cfg)
}

// PriorReadEvidence reads the leases of cfg, and returns their [PriorReadText] for [sinks.SourceWasRead]. It returns ""
// if a Lambda function reads the stream, because then there are no leases.
func PriorReadEvidence(ctx context.Context, t *target.Flags, cfg *config.Config) (string, error) {
	if t.LambdaReads(cfg) {
		return "", nil
	}
	path, err := LeaseFile(t, cfg)
	if err != nil {
		return "", err
	}
	var sdk awssdk.Config
	where := path
	if path == "" {
		where = "table " + cfg.Leases.Table.Name
		if sdk, err = target.LoadAWS(ctx); err != nil {
			return "", err
		}
	}
	snapshot, err := readLeases(ctx, path, cfg, sdk)
	return PriorReadText(snapshot, where), err
}

// PriorReadText returns the text of an error for the case that the state is empty and the leases prove that the stream
// was read before. It returns "" if the leases prove no earlier read. where names the file or table of the leases.
// Shards that only another application read do not count, because the pipeline takes over their leases.
func PriorReadText(seen leases.Snapshot, where string) string {
	shard, n := seen.CountRead()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(
		"leases in %s say that the stream was read (%s is one of %d shards), and the state knows nothing of any output: the state was lost", where, shard, n)
}

// ReadLeases reads the leases and the heartbeats of the consumers of cfg. It returns none if the lease table is
// missing, because no consumer has begun then.
func ReadLeases(ctx context.Context, t *target.Flags, cfg *config.Config, sdk awssdk.Config) (leases.Snapshot, error) {
	path, err := LeaseFile(t, cfg)
	if err != nil {
		return leases.Snapshot{}, err
	}
	snapshot, err := readLeases(ctx, path, cfg, sdk)
	if path == "" && IsNoLeaseTable(err, cfg) {
		return leases.Snapshot{}, nil // no consumer has begun
	}
	return snapshot, err
}

// readLeases reads the leases from the file at path. If path is "", it reads them from the lease table.
func readLeases(
	ctx context.Context, path string, cfg *config.Config, sdk awssdk.Config,
) (leases.Snapshot, error) {
	if path != "" {
		snapshot, _, err := leasesfile.ReadUnlocked(path)
		return snapshot, err
	}
	table, err := OpenLeaseTable(ctx, sdk, cfg, false)
	if err != nil {
		return leases.Snapshot{}, err
	}
	return Retry(ctx, func() (leases.Snapshot, error) { return table.Read(ctx) })
}
