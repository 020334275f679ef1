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

	backfill  state.Backfill          // the stored backfill of the run; zero for an archive, and before openSource
	items     *items.Snapshot         // with --items; nil until the files are read
	table     scan.Table              // zero if DescribeTable was not called
	keys      []string                // names of the table's key attributes; nil until the source is open
	narrowing *snapshot.ItemSelection // selects the items that are read; nil: all
	views     map[string]*view.Sink   // views that were filled, by name
	asOf      time.Time               // the source shows the table at this time or later; zero if unknown
}

// allSinks returns the sinks of the file, and the program's functions for entities.
func (j *job) allSinks() []config.Sink { return sinks.AllSinks(j.cfg, j.streams.Extensions...) }

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
	if j.selection.allPartsRead() {
		return j.finish(ctx, nil)
	}
	if len(j.o.items) > 0 { // a file that is refused must leave the births as they are
		if _, err := j.openSnapshot(ctx); err != nil {
			return err
		}
	}
	if err := j.begin(ctx); err != nil {
		return err
	}
	if j.o.prepare {
		var r plannedRun
		j.addSelection(&r)
		return cli.Print(j.streams.Out, j.o.format, r, r.write)
	}
	if err := j.checkStream(ctx); err != nil {
		return err
	}
	src, err := j.openSource(ctx)
	if err != nil {
		return err
	}
	sum, err := j.fill(ctx, src)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := errors.Join(err, src.Close(closing)); err != nil {
		if errors.Is(err, errSelectsNothing) {
			err = errors.Join(err, j.abandonRun(closing))
		}
		return err
	}
	return j.finish(ctx, sum)
}

// refusals returns the reasons why the run is refused, as far as the flags, the file and the selection show them. An
// entry is nil if its check finds none.
func (j *job) refusals() []error {
	return []error{j.checkLag(), j.checkFloor(), j.checkCopies(), j.checkTypes()}
}

// closeTimeout limits how long closing the source takes. Closing stores how far each part was read. If this fails for a
// part, other processes wait for the claim time before they read the part.
const closeTimeout = 5 * time.Second

// source is the source of a backfill.
type source interface {
	pipeline.Source
	Close(ctx context.Context) error

	// newProgress starts a progress of the source.
	newProgress(w io.Writer, description string) *cli.Progress
	// show shows the progress of the source. records is the number of records that the pipeline has read.
	show(progress *cli.Progress, records int64)
	// check returns an error if the source was broken, or if nothing in it was readable or selected.
	check(ctx context.Context, records int64) error
}

// fill runs a pipeline of the sinks over the source.
func (j *job) fill(ctx context.Context, src source) (*replay.Summary, error) {
	progress := src.newProgress(j.streams.Err, "filling "+j.selection.String())
	var noEntity atomic.Int64
	j.views = make(map[string]*view.Sink)
	o := sinks.BackfillOptions{Sinks: j.selection.names(), Views: j.views, Narrowing: j.condition()}
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
	if err := src.check(ctx, sum.Records); err != nil {
		return &sum, err
	}
	if !sum.Balanced {
		return &sum, fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", sum.Ledger.Check())
	}
	return &sum, nil
}

// finish waits for the stream, makes the sinks live, and prints the result. sum is nil if an earlier process read the
// source.
func (j *job) finish(ctx context.Context, sum *replay.Summary) error {
	if j.backfill.Run != "" { // reading may have taken longer than the state keeps tombstones
		if err := j.checkAge(ctx, j.backfill); err != nil {
			return err
		}
	}
	if err := j.waitAndMakeLive(ctx); err != nil {
		return err
	}

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
	if err := cli.Print(j.streams.Out, j.o.format, r, r.write); err != nil {
		return err
	}
	if sum != nil {
		return sum.DeadLetterError()
	}
	return nil
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
	narrowing  string // text of the narrowing that may leave out items of the snapshot; "" if there is none
	correction string // what to do if the narrowing selects nothing
}

var errSelectsNothing = errors.New("a sink that is filled by nothing can't be filled again: the sinks are not live")

func (s snapshotSource) check(ctx context.Context, _ int64) error {
	if selectsNothing, err := s.SelectsNothing(ctx); err != nil || !selectsNothing {
		return err
	}
	return fmt.Errorf("--type, --key-prefix and --filter select no item of the source (%s): %w; %s", s.narrowing,
		errSelectsNothing, s.correction)
}

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

// archiveSource reads archives and saved records, which must have all changes ever made.
type archiveSource struct {
	*records.Reporting
}

// check returns an error if the archive is empty or has an unreadable part. After the archive is repaired, the same
// command reads it again.
func (a archiveSource) check(_ context.Context, records int64) error {
	switch {
	case a.Broken != nil:
		return fmt.Errorf("the archive is not complete, and the sinks stay as they are: fix it, and repeat the command: %w",
			a.Broken)
	case records == 0:
		return errors.New(
			"the archive has no change: name an archive, or saved records; items are read with --items, and an export with --export")
	}
	return nil
}

func (a archiveSource) Close(context.Context) error { return a.Reporting.Close() }

func (a archiveSource) newProgress(w io.Writer, description string) *cli.Progress {
	return cli.NewProgress(w, description, a.Progress().TotalBytes)
}

func (a archiveSource) show(progress *cli.Progress, records int64) {
	p := a.Progress()
	progress.UpdateBytes(p.Bytes, p.TotalBytes, records)
}
