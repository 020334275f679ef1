package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
)

// options are the flags of `replay`.
type options struct {
	records.Input
	target.Flags
	records.Period
	fresh   bool
	rebuild bool
	notify  bool
	custom  []string // names of the Go sinks to run
	verbose bool
	format  cli.Format
}

// New returns the command replay.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "replay -c FILE (--local DIR | --live) PATH...",
		Short: "Run saved records through the pipeline",
		Long: `replay runs saved stream records through the whole pipeline. It reads JSON lines, arrays, Lambda
events, the output of ` + "`aws dynamodbstreams get-records`" + `, and archives; plain, gzip or zstd; from
files, folders (in the order of names), or standard input (-).

Name archives in S3 as s3://BUCKET/PREFIX. replay reads each version of an item once, and the
versions of an item in order, in bounded memory. --from and --to select a part. If objects must be
restored first, replay names all of them, each with the command that restores it. Credentials,
Region and endpoint are those of the AWS SDK (AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_S3).

With --local, every sink has its embedded store in that folder. If the same configuration has
already written to the folder, replay continues there, and writes nothing twice. Notifications are
published only with --notify, and Go sinks run only if --custom names them.

Only --live writes to real stores. It first names them: tables, indexes and buckets of the account
of this shell's credentials. Versions are compared, so a replay never replaces what a newer change
has written.`,
		Example: `  tablewake replay -c tablewake.yaml --local out stream.jsonl
  tablewake replay -c tablewake.yaml --local out --fresh events/ more.jsonl.gz
  tablewake replay -c tablewake.yaml --local out s3://audit/changes/ --from 2026-01-01 --to 2026-02-01
  aws dynamodbstreams get-records --shard-iterator "$IT" | tablewake replay -c tablewake.yaml --local out --stream-arn "$ARN" -`,
		Args: cli.AtLeastOneArgument("name what to replay: files, folders, s3://BUCKET/PREFIX, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) error {
			return cli.Interrupted(c.Context(), o.run(c.Context(), s, args))
		},
	}
	o.Input.Add(c)
	o.Flags.Add(c, "give every sink its embedded store in this folder")
	o.AddCreate(c)
	o.Period.Add(c)
	f := c.Flags()
	f.BoolVar(&o.fresh, "fresh", false, "empty the --local folder first")
	f.BoolVar(&o.rebuild, "rebuild", false,
		"replay the whole history into empty views and aggregates; no change is too old")
	f.StringSliceVar(&o.custom, "custom", nil, "also run these Go sinks: custom sinks, and on_ENTITY of sinks.On")
	f.BoolVar(&o.notify, "notify", false, "also publish notifications")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log to standard error what the pipeline does")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams, paths []string) (err error) {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	if err := cmp.Or(o.checkFlags(), o.checkFresh(paths), o.checkCustom(cfg, s)); err != nil {
		return err
	}
	in, err := o.openInput(ctx, s, cfg, paths)
	if err != nil {
		return err
	}
	defer in.Close()
	endTelemetry, err := o.StartTelemetry(ctx, cfg, nil, s.Err, o.verbose)
	if err != nil {
		return err
	}
	defer endTelemetry()
	stores, err := o.Open(ctx, cfg, s.Err, o.fresh)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	if o.rebuild {
		if err := o.checkArchives(ctx, cfg, stores, paths); err != nil {
			return err
		}
	}
	return o.replay(ctx, s, cfg, stores, in)
}

// openInput opens the input. With --fresh it returns an error if the input has no record, because the folder is emptied
// next.
func (o *options) openInput(
	ctx context.Context, s cli.Streams, cfg *config.Config, paths []string,
) (*records.Reporting, error) {
	mask, err := sinks.Mask(cfg)
	if err != nil {
		return nil, err
	}
	input := o.Source(cfg, s, paths)
	input.Complete = o.rebuild // a file without records may be a damaged one
	src, err := records.Open(ctx, input, o.Period, s.Err)
	if err != nil {
		return nil, err
	}
	if o.fresh {
		first, err := records.Peek(ctx, src)
		if err != nil {
			_ = src.Close() // nothing was read
			return nil, withBrokenCode(fmt.Errorf("%s is not emptied: %w", o.Local, err))
		}
		src = first
	}
	return &records.Reporting{Source: src, Tables: cfg.Source.Tables, RefuseForeign: o.rebuild, Mask: mask,
		NoteKeys: o.NoteItemKeys}, nil
}

// replay runs the input through the pipeline, and prints the summary.
func (o *options) replay(
	ctx context.Context, s cli.Streams, cfg *config.Config, stores *target.Stores, in *records.Reporting,
) error {
	bar := cli.NewProgress(s.Err, "replaying", in.Progress().TotalBytes)
	in.W = bar
	var noEntity atomic.Int64
	opts := []sinks.Option{o.holdCustom(cfg, s), sinks.Finite(), sinks.CountNoEntity(&noEntity)}
	if !o.notify {
		opts = append(opts, sinks.SuppressEvents("replay"))
	}
	if o.rebuild {
		opts = append(opts, sinks.Rebuild())
	}
	p, err := o.Assemble(ctx, cfg, stores, cli.NewWarnLogger(bar, o.verbose), opts...)
	if err != nil {
		return o.Hint(err)
	}
	auto, err := redrive.StartAuto(ctx, &o.Input, cfg, stores, p, bar, o.verbose)
	if err != nil {
		return err
	}
	sum, err := o.runPipeline(ctx, cfg, p, in, bar)
	err = cmp.Or(err, auto.Finish(ctx))
	isComplete := err == nil && !sum.Interrupted && in.Broken == nil
	if o.rebuild && isComplete {
		err = finishRebuild(ctx, cfg, stores, sum.Records)
	}
	sum.NoEntity = noEntity.Load()
	if err := sum.Print(s, o.format, cfg, &o.Flags); err != nil {
		return err
	}
	in.Warn(s.Err)
	return o.exitError(sum, in.Broken, err)
}

func (o *options) checkFlags() error {
	switch {
	case o.Local == "" && !o.Live:
		return cli.Usagef(
			"replay never touches real stores by itself: give --local DIR for embedded stores in a folder, or --live for the real ones")
	case o.fresh && o.Live:
		return cli.Usagef("--fresh empties a --local folder; real stores are not emptied")
	case o.rebuild && o.Period != records.Period{}:
		return cli.Usagef("--rebuild needs the whole history: leave out --from and --to")
	}
	return o.Check()
}

// withBrokenCode returns err, with the exit code of a broken input if it is one.
func withBrokenCode(err error) error {
	if _, isBroken := errors.AsType[*replay.BrokenError](err); isBroken {
		return cli.WithExitCode(cli.ExitDeadLetters, err)
	}
	return err
}

// checkArchives returns an error if an input is an archive of this pipeline that is no source.
func (o *options) checkArchives(ctx context.Context, cfg *config.Config, stores sinks.Stores, paths []string) error {
	store, err := stores.State(ctx, cfg)
	if err != nil || store == nil {
		return err
	}
	births, err := stream.Collect(store.Births(ctx))
	if err != nil {
		return err
	}
	return records.CheckArchives(&o.Flags, cfg, births, paths)
}

// checkFresh returns a usage error if --fresh would remove one of the inputs.
func (o *options) checkFresh(paths []string) error {
	if !o.fresh {
		return nil
	}
	dir := target.RealPath(o.Local)
	for _, path := range paths {
		input := target.RealPath(path)
		hasLink := slices.ContainsFunc(linkedFiles(path), func(file string) bool { return contains(dir, file) })
		switch {
		case contains(input, dir):
			return cli.Usagef("--fresh empties %s, which is in the input %s: copy the input elsewhere first", o.Local, path)
		case contains(dir, input), hasLink:
			return cli.Usagef("--fresh empties %s, and %s is in it: copy it elsewhere first", o.Local, path)
		}
	}
	return nil
}

// linkedFiles returns the real paths of the files in a folder, which may be links.
func linkedFiles(folder string) (real []string) {
	files, err := inputs.List([]string{folder})
	if err != nil {
		return nil // reading reports it
	}
	for _, f := range files {
		real = append(real, target.RealPath(f.Path))
	}
	return real
}

// contains reports whether path is folder, or is in it.
func contains(folder, path string) bool {
	below, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
}

// checkCustom returns a usage error if --custom names a sink that is not Go code.
func (o *options) checkCustom(cfg *config.Config, s cli.Streams) error {
	return cli.CheckNames("custom", cfg.File+" and this program have no such Go sink",
		sinks.CustomSinks(cfg, s.Extensions...), o.custom...)
}

// holdCustom returns the option that holds back Go sinks, which then get no changes. It holds back each Go sink that
// --custom does not name, and prints the name of that sink.
func (o *options) holdCustom(cfg *config.Config, s cli.Streams) sinks.Option {
	heldSinks := slices.DeleteFunc(sinks.CustomSinks(cfg, s.Extensions...), func(name string) bool {
		return slices.Contains(o.custom, name)
	})
	if len(heldSinks) > 0 {
		fmt.Fprintf(s.Err, "held back: %s; --custom NAME runs a Go sink\n", strings.Join(heldSinks, ", "))
	}
	return s.HoldCustom(cfg, "replay", o.custom...)
}

// finishRebuild sets the stage of the sinks that the rebuild filled to live. read is the number of records that it
// read.
func finishRebuild(ctx context.Context, cfg *config.Config, stores sinks.Stores, read int64) error {
	if read == 0 {
		return fmt.Errorf("the rebuild is not finished: %w: name the whole history", records.ErrNoRecord)
	}
	kept, err := stores.State(ctx, cfg)
	if err != nil || kept == nil {
		return err
	}
	return sinks.FinishRebuild(ctx, cfg, kept)
}

// runPipeline runs the pipeline and shows its progress in bar. The summary also has the errors of broken input files.
func (o *options) runPipeline(
	ctx context.Context, cfg *config.Config, p *pipeline.Pipeline, in *records.Reporting, bar *cli.Progress,
) (Summary, error) {
	sum, err := Run(ctx, cfg.Name, p, in, nil, bar, func() {
		pr := in.Progress()
		bar.UpdateBytes(pr.Bytes, pr.TotalBytes, p.Ledger().Source.Read)
	})
	sum.Interrupted = ctx.Err() != nil && (err != nil || !in.Ended)
	if in.Broken != nil {
		for _, f := range in.Broken.Files {
			sum.Errors = append(sum.Errors, f.Error())
		}
	}
	return sum, err
}

// exitError returns the error of the command, with its exit code. It returns nil if the run was complete and wrote no
// dead letters.
func (o *options) exitError(sum Summary, broken *replay.BrokenError, err error) error {
	switch {
	case sum.Interrupted:
		return cli.WithExitCode(cli.ExitInterrupted, errors.Join(errors.New("interrupted before the end; the same command continues"),
			err))
	case err != nil:
		return err
	case !sum.Balanced:
		return fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", sum.Ledger.Check())
	case broken != nil && o.rebuild:
		return cli.WithExitCode(cli.ExitDeadLetters,
			fmt.Errorf("the rebuild is not finished: fix the input, and repeat the command: %w", broken))
	case broken != nil:
		return cli.WithExitCode(cli.ExitDeadLetters, broken)
	}
	return sum.DeadLetterError()
}
