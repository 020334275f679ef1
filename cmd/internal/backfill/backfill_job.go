package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// job is one run of the command.
type job struct {
	o          *options
	streams    cli.Streams
	cfg        *config.Config
	stores     *target.Stores
	stateStore state.Store
	selection  *selection
	aws        awssdk.Config // with --live, or with an export in S3
	mask       *mask.Mask    // hides sensitive values in messages; nil: hides none

	items     *items.Snapshot         // with --items; nil until the files are read
	table     scan.Table              // zero if DescribeTable was not called
	keys      []string                // names of the table's key attributes; nil until the source is open
	narrowing *snapshot.ItemSelection // selects the items that are read; nil: all
	views     map[string]*view.Sink   // views that were filled, by name
	asOf      time.Time               // the source shows the table at this time or later; zero if unknown
}

// allSinks returns the sinks of the file, and the program's functions for entities.
func (j *job) allSinks() []config.Sink { return sinks.AllSinks(j.cfg, j.streams.Extensions...) }

// selectedSinks returns the sinks that the run fills.
func (j *job) selectedSinks() []config.Sink {
	names := j.selection.names()
	isUnselected := func(s config.Sink) bool { return !slices.Contains(names, s.Name) }
	return slices.DeleteFunc(slices.Clone(j.allSinks()), isUnselected)
}

// loadAWS loads the settings of AWS, if the stores or an export are in AWS.
func (j *job) loadAWS(ctx context.Context) (err error) {
	if j.o.Live || slices.ContainsFunc(j.o.export, target.IsS3) {
		j.aws, err = target.LoadAWS(ctx)
	}
	return err
}

func (j *job) run(ctx context.Context) error {
	if err := errors.Join(j.refusals()...); err != nil {
		return err
	}
	if err := j.loadAWS(ctx); err != nil {
		return err
	}
	switch {
	case j.o.prepare:
		return j.prepareFloor(ctx)
	case j.selection.allPartsRead():
		if err := j.checkSettlingSource(ctx); err != nil {
			return err
		}
		return j.finish(ctx, nil)
	}
	src, err := j.beginReading(ctx)
	if err != nil {
		return err
	}
	sum, err := j.fill(ctx, src)
	if err := errors.Join(err, closeSource(ctx, src)); err != nil {
		return err
	}
	unselected, err := j.leaveOutUnselected(ctx, src)
	if err != nil {
		return err
	}
	if len(j.selection.births) > 0 {
		err = j.finish(ctx, sum)
	}
	return errors.Join(err, j.unselectedError(unselected))
}

// prepareFloor sets the floor of the sinks that wait, and prints it.
func (j *job) prepareFloor(ctx context.Context) error {
	if !j.selection.isStored() {
		if err := j.begin(ctx); err != nil {
			return err
		}
	}
	var r plannedRun
	j.addSelection(&r)
	return cli.Print(j.streams.Out, j.o.format, r, r.write)
}

// beginReading stores the stages of the sinks and the backfill of the run, and opens the source.
func (j *job) beginReading(ctx context.Context) (source, error) {
	hasBegun := j.hasBegun()
	switch { // a source that is refused must leave the births as they are
	case len(j.o.items) > 0:
		if _, err := j.openSnapshot(ctx); err != nil {
			return nil, err
		}
	case len(j.o.archive) > 0:
		if err := j.checkArchive(ctx); err != nil {
			return nil, err
		}
	}
	if !hasBegun {
		if err := j.begin(ctx); err != nil {
			return nil, err
		}
	}
	if err := j.checkStream(ctx); err != nil {
		return nil, err
	}
	return j.openSource(ctx)
}

// hasBegun reports whether an earlier process has changed the births of the run. It stored the backfill of an archive
// before that, and may have been killed in between. Then the births still have a floor that --prepare has set.
func (j *job) hasBegun() bool {
	hasFloor := func(b state.Birth) bool { return !b.Floor.IsZero() }
	isArchiveUnbegun := len(j.o.archive) > 0 && slices.ContainsFunc(j.selection.births, hasFloor)
	if isArchiveUnbegun {
		return false
	}
	return j.selection.isStored()
}

// refusals returns the reasons why the run is refused, as far as the flags, the file and the selection show them. An
// entry is nil if its check finds none.
func (j *job) refusals() []error {
	return []error{j.checkLag(), j.checkPrepare(), j.checkFloor(), j.checkArchives(), j.checkTypes()}
}

// closeTimeout limits how long closing the source takes. Closing stores how far each part was read. If this fails for a
// part, other processes wait for the claim time before they read the part.
const closeTimeout = 5 * time.Second

// closeSource closes a source, also if ctx has ended.
func closeSource(ctx context.Context, src source) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return src.Close(ctx)
}

// source is the source of a backfill.
type source interface {
	pipeline.Source
	Close(ctx context.Context) error

	// newProgress starts a progress of the source.
	newProgress(w io.Writer, description string) *cli.Progress
	// show shows the progress of the source. records is the number of records that the pipeline has read.
	show(progress *cli.Progress, records int64)
	// check returns an error if the source was broken, or if nothing in it was readable.
	check(records int64) error
	// Unselected returns the names of the sinks for which a narrowing selects nothing.
	Unselected(ctx context.Context) ([]string, error)
}

// fill runs a pipeline of the sinks over the source.
func (j *job) fill(ctx context.Context, src source) (*replay.Summary, error) {
	progress := src.newProgress(j.streams.Err, "filling "+j.selection.String())
	var noEntity atomic.Int64
	j.views = make(map[string]*view.Sink)
	o := sinks.BackfillOptions{Sinks: j.selection.names(), Views: j.views}
	if j.narrowing != nil {
		narrowing := records.NewWideSelection(j.narrowing, j.mask)
		defer narrowing.Warn(j.streams.Err, "the filters of the sinks decided about that")
		o.Narrowing = narrowing
	}
	p, err := j.o.Assemble(ctx, j.cfg, j.stores, cli.NewWarnLogger(progress, j.o.verbose),
		sinks.WithExtensions(j.streams.Extensions...), sinks.Backfill(o), sinks.CountNoEntity(&noEntity))
	if err != nil {
		return nil, j.o.Hint(err)
	}
	committer, _ := src.(pipeline.Committer) // nil for an archive, which has no parts
	show := func() { src.show(progress, p.Ledger().Source.Read) }
	sum, err := replay.Run(ctx, j.cfg.Name, p, src, committer, progress, show)
	sum.Interrupted = ctx.Err() != nil
	sum.NoEntity = noEntity.Load()
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return &sum, err
	}
	if archive, is := src.(*archiveSource); is {
		j.noteNewest(archive)
	}
	if err := src.check(sum.Records); err != nil {
		return &sum, err
	}
	if !sum.Balanced {
		return &sum, fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", sum.Ledger.Check())
	}
	return &sum, nil
}

// noteNewest notes when the newest change of an archive was made, and prints it with --live: a copy may end long before
// the pipeline's own archive.
func (j *job) noteNewest(archive *archiveSource) {
	j.asOf = archive.Newest()
	if j.o.Live && !j.asOf.IsZero() {
		fmt.Fprintf(j.streams.Err, "the newest change of the archive was made at %s\n", j.asOf.Format(time.RFC3339))
	}
}

// finish waits for the stream, makes the sinks live, and prints the result. sum is nil if an earlier process read the
// source.
func (j *job) finish(ctx context.Context, sum *replay.Summary) error {
	hasRead := sum != nil
	if hasRead { // reading may have taken longer than the state keeps tombstones
		if err := j.checkAge(ctx); err != nil {
			return err
		}
	}
	if err := j.waitAndMakeLive(ctx); err != nil {
		return err
	}
	r := j.result(ctx, sum)
	if err := cli.Print(j.streams.Out, j.o.format, r, r.write); err != nil {
		return err
	}
	if hasRead {
		return sum.DeadLetterError()
	}
	return nil
}

// result returns the result of a run whose sinks are live. sum is that of [job.finish].
func (j *job) result(ctx context.Context, sum *replay.Summary) result {
	r := result{Run: j.selection.runID, Sinks: j.selection.names(), Stage: "live", Summary: sum, Assumed: j.lagAssumption()}
	if sum != nil {
		sum.AddCommands(j.cfg, &j.o.Flags)
	}
	if !j.o.Live && !j.asOf.IsZero() {
		r.Since = &j.asOf
	}
	for _, name := range r.Sinks {
		if err := r.addContested(ctx, name, j.views[name], j.keys); err != nil {
			fmt.Fprintf(j.streams.Err, cli.Warning+"the rows of %s that several items claim cannot be listed: %v\n", name, err)
		}
	}
	return r
}

// result is the output of `backfill -o json`.
type result struct {
	Run   string   `json:"run"`
	Sinks []string `json:"sinks"`
	Stage string   `json:"stage"`
	// Since is set with --local: the stream still has to bring the changes since this time
	Since   *time.Time      `json:"since,omitempty"`
	Summary *replay.Summary `json:"summary,omitempty"` // of this process; absent if an earlier one read the source
	Assumed string          `json:"assumed,omitempty"` // what was assumed and not proved: the lag of a Lambda function

	Contested     []contested `json:"contested,omitempty"`      // the first hundred rows that several items claim
	MoreContested int         `json:"more_contested,omitempty"` // number of further contested rows
}

// contested is a row that several items claim.
type contested struct {
	Sink    string     `json:"sink"`
	Row     string     `json:"row"`
	Owner   item.Key   `json:"owner"`
	Waiting []item.Key `json:"waiting"`
}

// maxContested is the maximum number of rows that a result lists.
const maxContested = 100

// addContested adds the rows of the view v that several items claim. v is nil if the sink is not a view.
func (r *result) addContested(ctx context.Context, sink string, v *view.Sink, keys []string) error {
	if v == nil {
		return nil
	}
	for c, err := range v.Contested(ctx, keys) {
		switch {
		case err != nil:
			return err
		case len(r.Contested) == maxContested:
			r.MoreContested++
		default:
			r.Contested = append(r.Contested, contested{sink, c.Row, c.Owner, c.Waiting})
		}
	}
	return nil
}

func (r *result) write(w io.Writer) {
	if r.Summary != nil {
		r.Summary.Write(w)
	}
	for _, c := range r.Contested {
		others := cli.Choose(len(c.Waiting) == 1, "another one waits", fmt.Sprintf("%d others wait", len(c.Waiting)))
		fmt.Fprintf(w, "%s: the item %s has the row %s, and %s for it: %s\n", c.Sink, c.Owner, c.Row, others, c.Waiting)
	}
	if r.MoreContested > 0 {
		fmt.Fprintf(w, "and %s that several items claim\n", cli.Count(r.MoreContested, "more row"))
	}
	if r.Assumed != "" {
		fmt.Fprintf(w, "assumed: %s\n", r.Assumed)
	}
	fmt.Fprintf(w, "%s: %s\n", strings.Join(r.Sinks, ", "), r.Stage)
	if r.Since != nil {
		fmt.Fprintf(w, "the source shows the table as of %s: replay or consume what came since then\n",
			r.Since.UTC().Format(time.RFC3339))
	}
}

// snapshotSource reads the items of an export, a scan or files.
type snapshotSource struct {
	*snapshot.Source
	narrowing string // text of the narrowing that may leave out items of the snapshot; "" if there is none
}

func (s snapshotSource) check(int64) error { return nil }

func (s snapshotSource) newProgress(w io.Writer, description string) *cli.Progress {
	return cli.NewItemProgress(w, description, s.progress().TotalItems)
}

func (s snapshotSource) show(progress *cli.Progress, _ int64) { progress.UpdateItems(s.progress()) }

func (s snapshotSource) progress() cli.ItemProgress {
	p := s.Progress()
	items := cli.ItemProgress{
		Items: p.Items, TotalItems: p.TotalItems, Bytes: p.Bytes, TotalBytes: p.TotalBytes,
		EarlierItems: p.EarlierItems, EarlierBytes: p.EarlierBytes, OwnItems: p.OwnItems,
	}
	if s.narrowing != "" {
		items.TotalItems = 0 // unknown
	}
	return items
}
