package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
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

// openSource opens the source, and stores the backfill.
func (j *job) openSource(ctx context.Context) (source, error) {
	if len(j.o.archive) > 0 {
		return j.openArchive(ctx)
	}
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
		Run: j.selection.runID, Sinks: strings.Join(j.selection.names(), ","), Source: j.withNarrowing(info.Source),
		Start: time.Now().UTC().Truncate(time.Second),
		From:  info.OldestTime.UTC().Truncate(time.Second), Parts: len(snap.Parts()),
	}
	stored, err := j.stateStore.AddBackfill(ctx, b)
	if err != nil {
		return nil, err
	}
	otherBeganScan := j.o.scan && !j.selection.isStored() && stored != b
	if otherBeganScan { // both scans began at the same time: use the start time of the stored one
		j.selection.stored = stored
		if snap, err = j.openSnapshot(ctx); err != nil {
			return nil, err
		}
		b.Source = j.withNarrowing(snap.Info().Source)
	}
	if err := j.checkStored(ctx, stored, b.Source); err != nil {
		return nil, err
	}
	j.backfill = stored

	host, _ := os.Hostname() // a part of the id with which this process claims parts
	src, err := snapshot.NewSource(snapshot.SourceOptions{
		Snapshot: snap, Backfills: j.stateStore, Run: stored.Run, Owner: host + "-" + state.NewID(), Concurrency: j.o.parts,
		Narrowing: j.condition(), Throttle: j.lagWaiter(), Logger: cli.NewWarnLogger(j.streams.Err, j.o.verbose),
	})
	if err != nil {
		return nil, err
	}
	return snapshotSource{src, j.narrowing.String(), j.narrowingCorrection()}, nil
}

// digests matches the digests in the name of a source that consists of files of items.
var digests = regexp.MustCompile(` sha256:[0-9a-f]{16}`)

// checkStored returns an error unless the stored run can continue with a source.
func (j *job) checkStored(ctx context.Context, stored state.Backfill, source string) error {
	names := strings.Join(j.selection.names(), ",")
	isSameSource := stored.Source == source
	hasSameFiles := digests.ReplaceAllString(stored.Source, "") == digests.ReplaceAllString(source, "")
	switch {
	case hasSameFiles && !isSameSource:
		return fmt.Errorf("the files of %s were replaced since the run %s began to read them: put them back as they were; "+
			"or give the sinks another name and a place of their own, and fill those from the new files",
			strings.Join(j.o.items, " "), stored.Run)
	case !isSameSource || stored.Sinks != names:
		return cli.Usagef("the run %s reads %s into %s, and not %s into %s: name the same", stored.Run, stored.Source,
			stored.Sinks, source, names)
	}
	return j.checkAge(ctx, stored)
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

// wider selects the items of a narrowing, and each item for which the narrowing returns an error. The filters of the
// sinks decide about that item.
type wider struct{ *snapshot.ItemSelection }

// Match implements [pipeline.Condition].
func (w wider) Match(c *record.Change) (bool, error) {
	matches, err := w.ItemSelection.Match(c)
	return matches || err != nil, nil
}

// condition returns the narrowing as a condition; nil if all items are read.
func (j *job) condition() pipeline.Condition {
	if j.narrowing == nil {
		return nil
	}
	return wider{j.narrowing}
}

// narrowingCorrection returns what to do if the narrowing selects nothing.
func (j *job) narrowingCorrection() string {
	repeat := "correct the flags, and repeat the command"
	hasAllItems := j.o.startExport && j.narrowing.Expression().Text == "" // DynamoDB has left out no item
	if path, err := j.exportPath(j.backfill.Source); hasAllItems && err == nil {
		repeat += " with --export " + path + ", which has all items, in place of --start-export, --bucket and --prefix"
	}
	return fmt.Sprintf("%s; or, if the table really has no such item: `%s`", repeat,
		target.BackfillCommand(j.o.CommandLine(j.cfg), strings.Join(j.selection.names(), ","), "--none"))
}

// withNarrowing returns the name of a source, followed by its narrowing.
func (j *job) withNarrowing(source string) string {
	narrowing := j.narrowing.String()
	if strings.HasSuffix(source, narrowing) { // also if there is no narrowing
		return source
	}
	return source + " " + narrowing
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

// checkAge returns an error if the state may forget tombstones that the backfill needs before it ends. Archives and Go
// sinks need no tombstones.
func (j *job) checkAge(ctx context.Context, b state.Backfill) error {
	if !j.selection.keepsState() {
		return nil
	}
	retention, err := state.LoadRetention(ctx, j.stateStore, sinks.GuardRetention(j.cfg), false)
	if err != nil {
		return err
	}
	return retention.CheckBackfill(b, time.Now())
}

// checkCopies returns an error if an archive would be filled from itself.
func (j *job) checkCopies() error {
	for _, s := range j.selection.neverWait {
		if s.Archive == nil {
			continue
		}
		bucket := cmp.Or(s.Archive.Bucket, s.Name)
		own := "s3://" + bucket
		if !j.o.Live {
			own = local.Dir(j.o.Local).Archive(bucket)
		}
		for _, path := range j.o.archive {
			from, to := absolute(path), absolute(own)+s.Archive.Prefix
			if strings.HasPrefix(from, to) || strings.HasPrefix(to, from) {
				return cli.Usagef("--sink %s: --archive %s has the archive that would be filled: leave it out", s.Name, path)
			}
		}
	}
	return nil
}

// absolute returns an absolute path with a / at the end, so that two paths of the same folder or prefix are equal.
func absolute(path string) string {
	if !target.IsS3(path) {
		if abs, err := filepath.Abs(path); err == nil {
			path = filepath.ToSlash(abs)
		}
	}
	return strings.TrimSuffix(path, "/") + "/"
}

// openArchive opens archives and saved records. With --live it first waits until the archive has the changes that the
// sinks left out.
func (j *job) openArchive(ctx context.Context) (source, error) {
	if j.o.Live { // the archive must have the changes that the sinks left out while they waited
		at := time.Now().UTC().Truncate(time.Second).Add(j.o.floorDelay)
		fmt.Fprintf(j.streams.Err, "the archive is read when it has all that was made before %s\n", at.Format(time.RFC3339))
		if err := pipeline.Sleep(ctx, time.Until(at)); err != nil {
			return nil, err
		}
		if err := j.waitUntilRead(ctx, at); err != nil {
			return nil, err
		}
	}
	opened, err := records.Open(ctx, j.o.Source(j.cfg, j.streams, j.o.archive), records.Period{}, j.streams.Err)
	if err != nil {
		return nil, err
	}
	m, err := sinks.Mask(j.cfg)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return archiveSource{&records.Reporting{Source: opened, W: j.streams.Err, Tables: j.cfg.Source.Tables, Mask: m}}, nil
}
