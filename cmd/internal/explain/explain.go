package explain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
	"github.com/tablewake/tablewake/shardreader/replay"
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
		Long: `explain shows, for each record, what every filter says, what changed from what to what,
which events arise, and what each sink would do and why. It runs the code that the
pipeline runs, and writes nothing.

It prints the values that changed. What the configuration says is sensitive is masked,
in all that it prints, also where a sink may hold it: conditions are judged by what is
there. The rest is as sensitive as the table.`,
		Example: `  tablewake explain -c tablewake.yaml stream.jsonl
  tablewake explain -c tablewake.yaml --key 'USER%23001,ORDER%23000001' stream.jsonl
  tablewake explain -c tablewake.yaml --limit 10 -o json stream.jsonl | jq .sinks`,
		Args: cli.SomeArguments("name what to explain: files, folders, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), s, args) },
	}
	o.Add(c)
	f := c.Flags()
	f.StringVar(&o.key, "key", "", "only changes of this item: its canonical key, as explain prints it")
	f.StringVar(&o.sequence, "sequence", "", "only the change with this sequence number")
	f.Int64VarP(&o.limit, "limit", "n", 0, "stop behind so many changes (0: all)")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams, paths []string) error {
	if o.limit < 0 {
		return cli.Usagef("--limit is a number of changes, or 0 for all")
	}
	if strings.Trim(o.sequence, "0123456789") != "" {
		return cli.Usagef("--sequence takes the digits of a sequence number, and %q has others", o.sequence)
	}
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	mask, err := sinks.Mask(cfg)
	if err != nil {
		return err
	}
	p, err := sinks.Assemble(ctx, cfg, sinks.PlanOnly(), sinks.Suppressed("replay"), sinks.MaskAll())
	if err != nil {
		return err
	}
	out := bufio.NewWriter(s.Out)
	n, err := o.explainPages(o.Pages(ctx, cfg, s, paths), explainer{p, mask, cfg.EntitySet()}, out)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if n == 0 && err == nil && (o.key != "" || o.sequence != "") {
		fmt.Fprintln(s.Err, "no change of the input matches; --key takes a key as explain prints it, with its escapes")
	}
	if ctx.Err() != nil {
		return cli.Exit(cli.ExitInterrupted, errors.New("interrupted"))
	}
	return err
}

// explainer explains changes and masks the explanations.
type explainer struct {
	*pipeline.Pipeline
	mask     *mask.Mask
	entities *entity.Set // nil if the file has none
}

// entityOf returns the entity of a change's item, as {@entity} does; nil if the file has no entities.
func (e explainer) entityOf(c *record.Change) *entityJSON {
	if e.entities == nil {
		return nil
	}
	of, err := e.entities.Of(rules.LatestImage(c))
	x := &entityJSON{Error: cli.ErrorText(err)}
	if of != nil && err == nil {
		x.Name = of.Name
	}
	return x
}

func (e explainer) explain(c *record.Change) pipeline.Explanation {
	return e.mask.Explanation(e.Explain(c))
}

// explainPages prints the explanations that the flags select, and returns their number.
func (o *options) explainPages(pages iter.Seq2[*record.Page, error], p explainer, out io.Writer) (printed int64, err error) {
	var before, undecodable int64 // records of earlier pages; undecodable records
	for page, err := range pages {
		for x := range o.explanations(p, page, before) {
			if x.Error != nil {
				undecodable++
			}
			if err := o.print(out, x); err != nil {
				return printed, err
			}
			if printed++; printed == o.limit {
				return printed, nil
			}
		}
		before += int64(len(page.Changes) + len(page.Errors))
		if broken, ok := errors.AsType[*replay.BrokenError](err); ok {
			return printed, cli.Exit(cli.ExitDeadLetters, broken)
		}
		if err != nil {
			return printed, err
		}
	}
	if undecodable > 0 {
		return printed, cli.Exit(cli.ExitDeadLetters, nil)
	}
	return printed, nil
}

// explanations yields the explanations of a page that the flags select, in the order of the records. before is the
// number of records of earlier pages. Flags match a key as stored, and as masked.
func (o *options) explanations(p explainer, page *record.Page, before int64) func(func(explanation) bool) {
	return func(yield func(explanation) bool) {
		errs := page.Errors
		for i := 0; i < len(page.Changes) || len(errs) > 0; {
			if len(errs) > 0 && (i == len(page.Changes) || errs[0].Index < int(page.Changes[i].Index)) {
				key := errs[0].Key
				e := p.mask.RecordError(errs[0])
				errs = errs[1:]
				x := explanation{
					Record: before + int64(e.Index) + 1, Op: "UNDECODABLE", Key: e.Key, Sequence: e.Sequence,
					Error: &decodeErrorJSON{e.Path, records.ErrorText(e)},
				}
				if (o.selects(key, e.Sequence) || o.selects(e.Key, e.Sequence)) && !yield(x) {
					return
				}
				continue
			}
			c := &page.Changes[i]
			i++
			if (o.selects(c.Key, c.Sequence) || o.selects(p.mask.Key(c), c.Sequence)) && !yield(p.explanation(before+int64(c.Index)+1, c)) {
				return
			}
		}
	}
}

// explanation explains record n of the input.
func (e explainer) explanation(n int64, c *record.Change) explanation {
	x := newExplanation(n, e.explain(c))
	x.Entity = e.entityOf(c)
	return x
}

// selects reports whether the flags select a change.
func (o *options) selects(key item.Key, sequence string) bool {
	return (o.key == "" || item.Key(o.key) == key) &&
		(o.sequence == "" || record.CompareSequence(o.sequence, sequence) == 0)
}

func (o *options) print(w io.Writer, x explanation) error {
	return cli.Print(w, o.format, x, x.write)
}
