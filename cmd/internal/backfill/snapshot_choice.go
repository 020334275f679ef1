package backfill

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// openSnapshot opens the source that the flags name: an export, a scan or items. Items are opened once: later calls
// return the same snapshot.
func (j *job) openSnapshot(ctx context.Context) (snapshot.Snapshot, error) {
	if j.items != nil {
		return j.items, nil
	}
	if err := j.resolveKeys(ctx); err != nil {
		return nil, err
	}
	decoder := record.SnapshotOptions{DecoderOptions: j.o.Decoder(j.cfg), Keys: j.keys,
		Kinesis: j.cfg.Source.Kinesis != ""}
	arn, err := j.streamARN(ctx)
	if err != nil {
		return nil, err
	}
	if arn != "" {
		decoder.StreamARN, decoder.EpochZero = arn, false
	}
	switch {
	case j.o.scan:
		return j.openScan(ctx, decoder)
	case len(j.o.items) > 0:
		return j.openItems(ctx, decoder)
	}
	paths := j.o.export
	if j.o.startExport {
		path, err := j.requestExport(ctx)
		if err != nil {
			return nil, err
		}
		paths = []string{path}
	}
	return records.OpenExport(ctx, j.aws, export.Options{Layers: paths, Decoder: decoder}, j.streams.Err)
}

// openItems reads the files of items to their ends, and keeps the snapshot in j.items.
func (j *job) openItems(ctx context.Context, decoder record.SnapshotOptions) (snapshot.Snapshot, error) {
	progress := cli.NewProgress(j.streams.Err, "checking the items", 0)
	defer progress.End()
	o := items.Options{
		ShowKey: func(c *record.Change) string { return string(j.mask.Key(c)) },
		Paths:   target.CanonicalPaths(j.o.items), Decoder: decoder, Progress: progress.UpdateBytes,
	}
	letters := cmp.Or(j.cfg.DeadLetters, &config.DeadLetters{})
	hasLetters := !j.o.Live || letters.Bucket != "" || letters.Queue != "" || letters.Dir != ""
	o.RefuseUndecodable = letters.BlockUndecodable || !hasLetters // the line would block the backfill
	if j.o.shownAt != "" {
		at, err := time.Parse(time.RFC3339, j.o.shownAt)
		if err != nil {
			return nil, cli.Usagef("--shown-at %q is not a time: write it as 2026-01-31T12:00:00Z", j.o.shownAt)
		}
		o.Time = at
	}
	opened, err := items.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	j.items = opened
	return opened, nil
}

// openScan opens a scan that begins after the floor of the sinks.
func (j *job) openScan(ctx context.Context, decoder record.SnapshotOptions) (snapshot.Snapshot, error) {
	start := j.selection.stored.From
	switch {
	case j.selection.isStored() && start.IsZero(): // a scan has a time, so the run has another source
		if err := j.checkSource("a scan of " + j.tableName()); err != nil {
			return nil, err
		}
	case !j.selection.isStored():
		if err := j.waitForScan(ctx); err != nil {
			return nil, err
		}
		start = time.Now().UTC().Truncate(time.Second)
	}
	return scan.New(ctx, scan.Options{
		Client: dynamodb.NewFromConfig(j.aws), Table: j.tableName(), Segments: j.o.segments, RCU: j.o.rcu, Time: start,
		Decoder: decoder, Narrowing: j.narrowing, OnRetry: records.RetryPrinter(j.streams.Err, "a request of the scan"),
	})
}

// waitForScan waits until the floor of the sinks has passed.
func (j *job) waitForScan(ctx context.Context) error {
	earliest := j.selection.earliestSourceTime(j.o.clockSkew)
	if j.o.dryRun || !time.Now().Before(earliest) {
		return nil
	}
	fmt.Fprintf(j.streams.Err,
		"the scan begins at %s: until then every process learns that the sinks are being filled\n",
		earliest.Format(time.RFC3339))
	return pipeline.Sleep(ctx, time.Until(earliest))
}

// tableName returns the name of the source table.
func (j *job) tableName() string {
	t := j.cfg.Source.Tables[0]
	return cmp.Or(t.ARN, t.Name)
}
