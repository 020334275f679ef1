package tail

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/explain"
	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/sinks"
)

// options are the flags of `tail`.
type options struct {
	config string
	table  string
	key    string
	of     []string
	limit  int64
	force  bool
	format cli.Format
}

// New returns the command tail.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "tail -c FILE",
		Short: "Show the changes of a table as they are written",
		Long: `tail shows the changes that are written to the source table from now on. It shows each change like
explain: its time, operation and key, the entity of its item, and the attributes that changed. The
changes of one item are in order. It does not show what filters and sinks do. For that, record the
stream, and explain the recording. Attributes that the configuration calls sensitive are masked.
The rest is as sensitive as the table. tail needs no lease, stores no position and writes nothing.
Stop it with Ctrl-C.

--key shows one item, or all items with a partition key. --of shows the items of entities.

A shard can have two readers, and a consumer is one of them. tail calls GetRecords once a second for
each shard. It exits with 1 at the first throttle, because the consumer is slowed down too. A shard
of a global table can have only one reader: tail refuses to read it without --force.`,
		Example: `  tablewake tail -c tablewake.yaml
  tablewake tail -c tablewake.yaml --of Order --key 'PK=USER#001'
  tablewake tail -c tablewake.yaml --key 'PK=USER#001,SK=PROFILE' -n 1
  tablewake tail -c tablewake.yaml -o json | jq -c .diff`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	cli.AddConfig(c, &o.config)
	f := c.Flags()
	f.StringVar(&o.table, "table", "", "the table, if the configuration names several")
	f.StringVar(&o.key, "key", "", "only items with these key attributes, PK=...,SK=... or PK=..., or this canonical key")
	f.StringSliceVar(&o.of, "of", nil, "only items of this entity; several are separated by commas")
	f.Int64VarP(&o.limit, "limit", "n", 0, "stop after this many changes (0: run until you stop it)")
	f.BoolVar(&o.force, "force", false, "also read a global table, or a table that may be global")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams) error {
	if o.limit < 0 {
		return cli.Usagef("--limit is a number of changes, or 0 for all")
	}
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return err
	}
	table, err := cli.SourceTable(cfg, o.table)
	if err != nil {
		return err
	}
	printer, err := o.printer(cfg, table)
	if err != nil {
		return err
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	api := stream.OpenRateLimited(sdk, cfg, maxConnections)
	ref, err := shardreader.FindStream(ctx, api, cmp.Or(table.StreamARN, table.Name))
	if err != nil {
		return err
	}
	if !o.force {
		if err := refuseGlobalTable(ctx, dynamodb.NewFromConfig(sdk), ref); err != nil {
			return err
		}
	}
	return printNewRecords(ctx, s, api, ref, printer)
}

// maxConnections is the maximum number of connections that tail keeps open for GetRecords calls.
const maxConnections = 64

// printer returns the printer, which prints the changes that the flags select.
func (o *options) printer(cfg *config.Config, table config.Table) (explain.Printer, error) {
	mask, err := sinks.Mask(cfg)
	if err != nil {
		return explain.Printer{}, err
	}
	selected := selection{mask: mask, entities: cfg.EntitySet()}
	if o.key != "" {
		if selected.key, err = itemkey.Parse(o.key, cfg, table.Name); err != nil {
			return explain.Printer{}, err
		}
		if err := selected.key.Check(cfg.TableKey()); err != nil { // the patterns of entities name the attributes
			return explain.Printer{}, err
		}
	}
	if err := selected.setEntities(o.of, cfg.File); err != nil {
		return explain.Printer{}, err
	}
	return explain.Printer{
		Explain: difference, Mask: mask, Entities: cfg.EntitySet(), Selects: selected.selects,
		Limit: o.limit, Format: o.format,
	}, nil
}

// difference explains a change by the difference between its images. The explanation says nothing about filters and
// sinks.
func difference(c *record.Change) pipeline.Explanation {
	x := pipeline.Explanation{Change: c}
	if c.Old.Exists() && c.New.Exists() {
		x.Diff = item.Diff(c.Old, c.New)
	}
	return x
}

// printNewRecords prints the records that are written to the stream from now on.
func printNewRecords(
	ctx context.Context, s cli.Streams, api shardreader.API, ref shardreader.StreamRef, p explain.Printer,
) error {
	out := bufio.NewWriter(s.Out)
	pages := shardreader.Tail(ctx, shardreader.TailOptions{
		API: api, Stream: ref.ARN, Retryable: retryable,
		Started: func(shards int) {
			fmt.Fprintf(s.Err, "table %s, %s: what is written from now on; Ctrl-C ends it\n",
				ref.Table, cli.Count(shards, "shard"))
		},
	})
	printed, err := p.Print(flushed(out, pages), out)
	err = cmp.Or(err, out.Flush())
	isEndless := p.Limit == 0
	reachedLimit := !isEndless && printed >= p.Limit
	interrupted := ctx.Err() != nil
	switch {
	case interrupted && isEndless: // Ctrl-C is the usual end
		return nil
	case interrupted && !reachedLimit:
		return cli.WithExitCode(cli.ExitInterrupted, errors.New("interrupted"))
	case awserr.IsThrottled(err):
		return fmt.Errorf("DynamoDB throttles the readers of the stream, and a consumer of it is slowed too: a shard has "+
			"at most two readers, and one if the table is global; run tail again when others do not read: %w", err)
	case err == nil && !reachedLimit: // the pages ended
		fmt.Fprintf(s.Err, "the stream %s is disabled, and read to its end\n", ref.ARN)
	}
	return err
}

// flushed yields pages, and flushes out after each page, so that a change is printed at once.
func flushed(out *bufio.Writer, pages iter.Seq2[*record.Page, error]) iter.Seq2[*record.Page, error] {
	return func(yield func(*record.Page, error) bool) {
		for page, err := range pages {
			if !yield(page, err) {
				return
			}
			if err := out.Flush(); err != nil {
				yield(&record.Page{}, err)
				return
			}
		}
	}
}

// retryable is [pipeline.Retryable], except that it returns false for throttles. A throttled tail ends, so that it does
// not slow the consumers.
func retryable(err error) (after time.Duration, ok bool) {
	if awserr.IsThrottled(err) {
		return 0, false
	}
	return pipeline.Retryable(err)
}
