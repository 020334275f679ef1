package backfill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// sourceFlags are the flags that select the source.
type sourceFlags struct {
	scan        bool
	export      []string
	startExport bool
	bucket      string
	prefix      string
	items       []string
	archive     []string
	keys        []string
	segments    int
	rcu         float64
	parts       int
	narrowing   records.SelectionFlags
	shownAt     string
}

func (f *sourceFlags) addSource(c *cobra.Command) {
	fs := c.Flags()
	fs.BoolVar(&f.scan, "scan", false, "scan the table")
	fs.StringArrayVar(&f.export, "export", nil,
		"full export, and then each incremental export after it, in order: a folder or s3://BUCKET/PREFIX")
	fs.BoolVar(&f.startExport, "start-export", false,
		"ask DynamoDB for a full export, wait for it, and read it; the table needs point-in-time recovery")
	fs.StringVar(&f.bucket, "bucket", "", "with --start-export: bucket of the export")
	fs.StringVar(&f.prefix, "prefix", "", "with --start-export: prefix of the export's objects")
	fs.StringSliceVar(&f.items, "items", nil, "items as JSON lines in DynamoDB's JSON: files or folders")
	fs.StringVar(&f.shownAt, "shown-at", "",
		"with --items: time at which the table had these items, or a later time, such as 2026-01-31T12:00:00Z")
	fs.StringSliceVar(&f.archive, "archive", nil,
		"all changes that were ever made: archives (s3://BUCKET/PREFIX, folders) and saved records")
	fs.StringSliceVar(&f.keys, "keys", nil,
		"names of the table's key attributes, partition key first (default: the table's)")
	fs.IntVar(&f.segments, "segments", 16, "with --scan: number of segments; it must be the same for all processes")
	fs.Float64Var(&f.rcu, "rcu", 500, "with --scan: read units a second of this process; 0 is no limit")
	fs.IntVar(&f.parts, "parts", 4, "files or segments that this process reads at the same time")
	f.narrowing.Add(c)
}

func (f *sourceFlags) checkSource(t *target.Flags) error {
	switch {
	case (f.scan || f.startExport) && !t.Live:
		return cli.Usagef(
			"--scan and --start-export read the real table: they go with --live; a --local folder takes --export, --items and --archive")
	case f.startExport && f.bucket == "":
		return cli.Usagef("--start-export needs --bucket: the bucket that takes the export")
	case (f.bucket != "" || f.prefix != "") && !f.startExport:
		return cli.Usagef(
			"--bucket and --prefix go with --start-export; --export s3://BUCKET/PREFIX reads an export that is there")
	case f.segments < 1 || f.rcu < 0 || f.parts < 1:
		return cli.Usagef("--segments and --parts must be 1 or more, and --rcu must not be negative")
	case f.shownAt != "" && len(f.items) == 0:
		return cli.Usagef("--shown-at goes with --items: an export and a scan know their time")
	case len(f.archive) > 0 && f.narrowing.Given():
		return cli.Usagef("--type, --key-prefix and --filter select items: an archive is read with all changes of an item")
	}
	return nil
}

// openSource opens the source, and stores the backfill before anything is written.
func (j *job) openSource(ctx context.Context) (source, error) {
	if len(j.o.archive) > 0 {
		return j.openArchive(ctx)
	}
	snap, err := j.storeSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := j.o.NoteItemKeys(j.keys); err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // a part of the id with which this process claims parts
	src, err := snapshot.NewSource(snapshot.SourceOptions{
		Snapshot: snap, Backfills: j.stateStore, Run: j.selection.runID, Owner: host + "-" + state.NewID(),
		Concurrency: j.o.parts, Selections: j.selections(), Throttle: j.lagWaiter(),
		Logger: cli.NewWarnLogger(j.streams.Err, j.o.verbose),
		Alone:  !j.o.Live, // the folder is locked
	})
	if err != nil {
		return nil, err
	}
	return snapshotSource{src, j.narrowing.String()}, nil
}

// storeSnapshot opens the snapshot that the flags name, checks it, and stores its backfill.
func (j *job) storeSnapshot(ctx context.Context) (snapshot.Snapshot, error) {
	snap, err := j.openSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	info := snap.Info()
	j.asOf = info.Time
	for _, check := range j.sourceChecks(ctx, snap) {
		if err := check(); err != nil {
			return nil, err
		}
	}
	j.warnOfArchives(info.Time)
	b := state.Backfill{
		Source: j.withNarrowing(info.Source), From: info.OldestTime.UTC().Truncate(time.Second), Parts: len(snap.Parts()),
	}
	if err := j.storeBackfill(ctx, b); err != nil {
		return nil, err
	}
	otherBeganScan := j.o.scan && j.selection.stored.Source != b.Source
	if otherBeganScan { // both scans began at the same time: use the start time of the stored one
		if snap, err = j.openSnapshot(ctx); err != nil {
			return nil, err
		}
	}
	return snap, errors.Join(j.checkSource(j.withNarrowing(snap.Info().Source)), j.checkAge(ctx))
}

// storeBackfill stores the backfill of the run, unless it is stored. b has the fields that depend on the source. If
// several processes of the run call it at once, all continue with the backfill of the first one.
func (j *job) storeBackfill(ctx context.Context, b state.Backfill) (err error) {
	if j.selection.isStored() {
		return nil
	}
	b.Run, b.Sinks = j.selection.runID, strings.Join(j.selection.names(), ",")
	b.Start = time.Now().UTC().Truncate(time.Second)
	stored, err := j.stateStore.AddBackfill(ctx, b)
	switch {
	case err != nil:
		return err
	case stored.Sinks != b.Sinks:
		return fmt.Errorf("another command has taken sinks of %s from this run meanwhile: repeat the command", j.selection)
	}
	j.selection.stored = stored
	return nil
}

// digests matches the digests in the name of a source that consists of files of items.
var digests = regexp.MustCompile(` sha256:[0-9a-f]{16}`)

// checkSource returns an error unless a source is that of the stored run.
func (j *job) checkSource(name string) error {
	stored := j.selection.stored
	hasSameFiles := digests.ReplaceAllString(stored.Source, "") == digests.ReplaceAllString(name, "")
	switch {
	case !j.selection.isStored() || stored.Source == name:
		return nil
	case hasSameFiles:
		return fmt.Errorf("the files of %s were replaced since the run %s began to read them: put them back as they were; "+
			otherSinks, strings.Join(j.o.items, " "), stored.Run)
	}
	return cli.Usagef("the run %s reads %s, and not %s: name the same; "+otherSinks, stored.Run, stored.Source, name)
}

// otherSinks is what to do if a run began with the wrong source: its sinks may have items of that source already.
const otherSinks = "or give the sinks another name and a place of their own, and fill those from this source, with --sink"

// checkSettlingSource returns an error unless the flags name the source of the stored run, which has read all of it.
func (j *job) checkSettlingSource(ctx context.Context) error {
	if len(j.o.archive) > 0 {
		return j.checkSource(j.archiveName())
	}
	snap, err := j.openSnapshot(ctx)
	if err != nil {
		return err
	}
	j.asOf = snap.Info().Time
	return j.checkSource(j.withNarrowing(snap.Info().Source))
}

// sourceChecks returns the checks of whether a snapshot can be read into the sinks. The last one makes calls.
func (j *job) sourceChecks(ctx context.Context, snap snapshot.Snapshot) []func() error {
	info := snap.Info()
	return []func() error{
		func() error { return j.checkTable(info) },
		func() error { return j.checkTime(info.Time) },
		func() error { return j.checkView(ctx, info) },
		func() error { return j.checkKeys(ctx, snap) },
	}
}

// checkTable returns an error if the snapshot belongs to another table than that of the file.
func (j *job) checkTable(info snapshot.Info) error {
	if info.TableARN == "" {
		return nil
	}
	table := j.cfg.Source.Tables[0]
	_, name, _ := strings.Cut(info.TableARN, ":table/")
	isTable := table.ARN == info.TableARN
	if table.ARN == "" {
		isTable = table.Name == name
	}
	if isTable {
		return nil
	}
	return fmt.Errorf("the source is of the table %s, and %s reads %s", info.TableARN, j.cfg.File, j.tableName())
}

// checkView returns an error if a sink needs old images and an incremental export has none.
func (j *job) checkView(ctx context.Context, info snapshot.Info) error {
	if info.View != record.NewImage {
		return nil
	}
	var functions []string // names of the program's Go functions for entities
	for _, s := range j.allSinks()[len(j.cfg.Sinks):] {
		functions = append(functions, s.Name)
	}
	p, err := sinks.Assemble(ctx, j.cfg, sinks.PlanOnly(), sinks.WithExtensions(j.streams.Extensions...),
		sinks.HoldCustom("backfill", functions...), sinks.Backfill(sinks.BackfillOptions{Sinks: j.selection.names()}))
	if err != nil {
		return err
	}
	if err := p.CheckView(record.NewImage, ""); err != nil {
		return fmt.Errorf(
			"an incremental export has new images only: export again with ExportViewType NEW_AND_OLD_IMAGES: %w", err)
	}
	return nil
}

// checkAge returns an error if the state may forget tombstones that the stored run needs before it ends. Archives and
// Go sinks need no tombstones. A run that reads an archive needs none either: the archive has the removals. Nor does a
// run that has read all parts.
func (j *job) checkAge(ctx context.Context) error {
	if !j.selection.keepsState() || len(j.o.archive) > 0 || j.selection.allPartsRead() {
		return nil
	}
	retention, err := state.LoadRetention(ctx, j.stateStore, sinks.GuardRetention(j.cfg), false)
	if err != nil {
		return err
	}
	return retention.CheckBackfill(j.selection.stored, time.Now())
}
