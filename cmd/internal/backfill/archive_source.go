package backfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks/state"
)

// checkArchives returns an error if an archive would be filled from itself, or if --archive names an archive of this
// pipeline that is no source.
func (j *job) checkArchives() error {
	for _, s := range j.selection.neverWait {
		if path := j.o.OverlappingPath(s, j.o.archive); path != "" {
			return cli.Usagef("--sink %s: --archive %s has the archive that would be filled: leave it out", s.Name, path)
		}
	}
	return records.CheckArchives(&j.o.Flags, j.cfg, j.selection.allBirths, j.o.archive)
}

// archiveName returns the name of the source that --archive names. The order of its paths makes no difference.
func (j *job) archiveName() string {
	paths := target.CanonicalPaths(j.o.archive)
	slices.Sort(paths)
	return "archive " + strings.Join(slices.Compact(paths), " ")
}

// checkArchive returns an error if the stored run has another source, or if the archive of a new run has no change.
func (j *job) checkArchive(ctx context.Context) error {
	if err := j.checkSource(j.archiveName()); err != nil || j.selection.isStored() {
		return err
	}
	if err := records.CheckRecord(ctx, j.archiveOptions(), j.cfg.Source.Tables); err != nil {
		return archiveError(err)
	}
	return nil
}

// storeArchive stores the backfill of an archive before [job.begin] changes a birth. A sink that waited has no floor
// while an archive fills it. So after that, no other source may fill the sink: its items could be older than the time
// from which on the stream writes to the sink.
func (j *job) storeArchive(ctx context.Context) error {
	if err := j.storeBackfill(ctx, state.Backfill{Source: j.archiveName()}); err != nil {
		return err
	}
	return j.checkSource(j.archiveName())
}

// archiveOptions returns the options to read the archives and saved records.
func (j *job) archiveOptions() replay.Options {
	o := j.o.Source(j.cfg, j.streams, j.o.archive)
	o.Complete = true // a file without records may be a damaged one
	return o
}

// openRecords opens the archives and saved records. Their faults are written to w.
func (j *job) openRecords(ctx context.Context, w io.Writer) (*archiveSource, error) {
	opened, err := records.Open(ctx, j.archiveOptions(), records.Period{}, w)
	if err != nil {
		return nil, err
	}
	return &archiveSource{&records.Reporting{
		Source: opened, W: w, Tables: j.cfg.Source.Tables, RefuseForeign: true, Mask: j.mask,
	}}, nil
}

// openArchive opens archives and saved records. With --live it first waits until the archive has the changes that the
// sinks left out while they waited.
func (j *job) openArchive(ctx context.Context) (source, error) {
	if j.o.Live {
		at := time.Now().UTC().Truncate(time.Second).Add(j.o.floorDelay)
		fmt.Fprintf(j.streams.Err, "the archive is read when it has all that was made before %s\n", at.Format(time.RFC3339))
		if err := pipeline.Sleep(ctx, time.Until(at)); err != nil {
			return nil, err
		}
		if err := j.waitUntilRead(ctx, at); err != nil {
			return nil, err
		}
	}
	return j.openRecords(ctx, j.streams.Err)
}

// archiveSource reads archives and saved records, which must have all changes ever made.
type archiveSource struct {
	*records.Reporting
}

// check returns an error if the archive is empty or has an unreadable part. After the archive is repaired, the same
// command reads it again.
func (a *archiveSource) check(read int64) error {
	switch {
	case a.Broken != nil:
		return archiveError(a.Broken)
	case read == 0:
		return archiveError(records.ErrNoRecord)
	}
	return nil
}

// archiveError returns the error of the command for an archive whose reading ended with err.
func archiveError(err error) error {
	_, isBroken := errors.AsType[*replay.BrokenError](err)
	switch {
	case isBroken:
		return fmt.Errorf("the archive is not complete, and the sinks stay as they are: fix it, and repeat the command: %w",
			err)
	case errors.Is(err, records.ErrNoRecord):
		return errors.New(
			"the archive has no change: name an archive, or saved records; items are read with --items, and an export with --export")
	}
	return err
}

// Unselected returns nil, because an archive is read without a narrowing.
func (a *archiveSource) Unselected(context.Context) ([]string, error) { return nil, nil }

func (a *archiveSource) Close(context.Context) error { return a.Reporting.Close() }

func (a *archiveSource) newProgress(w io.Writer, description string) *cli.Progress {
	return cli.NewProgress(w, description, a.Progress().TotalBytes)
}

func (a *archiveSource) show(progress *cli.Progress, records int64) {
	p := a.Progress()
	progress.UpdateBytes(p.Bytes, p.TotalBytes, records)
}
