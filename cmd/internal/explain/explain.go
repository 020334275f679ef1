package explain

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

// options are the flags of `explain`.
type options struct {
	records.Input
	key      string
	sequence string
	limit    int64
	format   cli.Format
}

// New is the command explain.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "explain -c FILE PATH...",
		Short: "Show what would happen to each saved record, and why",
		Long: `explain shows for each record the result of every filter, the attributes that changed, the events,
and what each sink would do and why. It runs the same code as the pipeline, and writes nothing.

It prints the changed values. It masks the attributes that the configuration calls sensitive,
everywhere in its output, even those that a sink may store. Conditions are evaluated on the
unmasked values. The rest of the output is as sensitive as the table.`,
		Example: `  tablewake explain -c tablewake.yaml stream.jsonl
  tablewake explain -c tablewake.yaml --key 'USER%23001,ORDER%23000001' stream.jsonl
  tablewake explain -c tablewake.yaml --limit 10 -o json stream.jsonl | jq .sinks`,
		Args: cli.AtLeastOneArgument("name what to explain: files, folders, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), s, args) },
	}
	o.Add(c)
	f := c.Flags()
	f.StringVar(&o.key, "key", "", "only items with these key attributes, PK=...,SK=... or PK=..., or this canonical key")
	f.StringVar(&o.sequence, "sequence", "", "only the change with this sequence number")
	f.Int64VarP(&o.limit, "limit", "n", 0, "stop after this many changes (0: all)")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams, paths []string) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	mask, err := sinks.Mask(cfg)
	if err != nil {
		return err
	}
	var key itemkey.Key // every key matches
	if o.key != "" {
		if key, err = itemkey.Parse(o.key, cfg, ""); err != nil {
			return err
		}
	}
	p, err := sinks.Assemble(ctx, cfg, sinks.PlanOnly(), s.HoldCustomForPlan(cfg, "replay"), sinks.SuppressEvents("replay"),
		sinks.MaskAll())
	if err != nil {
		return err
	}
	out := bufio.NewWriter(s.Out)
	printer := Printer{
		Explain: p.Explain, Mask: mask, Entities: cfg.EntitySet(), Limit: o.limit, Format: o.format,
		Selects: func(c *record.Change) bool {
			return key.Matches(c, mask) && (o.sequence == "" || record.CompareSequence(o.sequence, c.Sequence) == 0)
		},
	}
	printed, err := printer.Print(o.Pages(ctx, cfg, s, paths), out)
	err = cmp.Or(err, out.Flush())
	if printed == 0 && err == nil {
		o.warnOfNoMatch(s.Err)
	}
	if ctx.Err() != nil {
		return cli.WithExitCode(cli.ExitInterrupted, errors.New("interrupted"))
	}
	return err
}

func (o *options) checkFlags() error {
	switch {
	case o.limit < 0:
		return cli.Usagef("--limit is a number of changes, or 0 for all")
	case strings.Trim(o.sequence, "0123456789") != "":
		return cli.Usagef("--sequence takes the digits of a sequence number, and %q has others", o.sequence)
	}
	return nil
}

// warnOfNoMatch prints that no change has what the flags name. It prints nothing for an input without changes.
func (o *options) warnOfNoMatch(w io.Writer) {
	switch {
	case o.key != "":
		fmt.Fprintln(w, "no change of the input matches; "+itemkey.Usage)
	case o.sequence != "":
		fmt.Fprintln(w, "no change of the input has the sequence number "+o.sequence)
	}
}
