package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

// options are the flags of `why`.
type options struct {
	records.Input
	target.Flags
	key    string
	table  string
	format cli.Format
}

// New returns the command why.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "why -c FILE --key PK=...,SK=... (--live | --local DIR [PATH...])",
		Short: "Compare one item with everything that the sinks hold of it",
		Long: `why compares one item with everything that the sinks hold of it: rows, documents, guards, tombstones,
contributions to aggregates, dead letters and quarantine. It shows them side by side, with their
versions, and says which ones differ from what the item should produce. It plans that with the same
code as the pipeline. Nothing is written. The row of a group is shown, but not compared, because
other items count in it. why looks for entries of earlier states of the item only if it knows those
states. The output says what was left out.

With --live, the item is read from the source table. With --local, it is the last state of the item
in the named records, which should be those that were replayed. Without records, why shows the
entries and compares nothing.

Values are not shown: only the places and the names of the attributes that differ. The exit code is
1 if something differs.`,
		Example: `  tablewake why -c tablewake.yaml --key 'PK=USER#001,SK=PROFILE' --live
  tablewake why -c tablewake.yaml --key 'PK=USER#001,SK=ORDER#000001' --local out stream.jsonl
  tablewake why -c tablewake.yaml --key 'USER%23001,PROFILE' --local out -o json stream.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), s, args) },
	}
	o.Input.Add(c)
	o.Flags.Add(c, "look into this folder, which a replay wrote")
	f := c.Flags()
	f.StringVar(&o.key, "key", "", "the item's key attributes, PK=...,SK=..., or its canonical key (required)")
	f.StringVar(&o.table, "table", "", "the item's table, if the configuration names several")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams, paths []string) (err error) {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	if o.key == "" {
		return cli.Usagef("--key is missing; " + itemkey.Usage)
	}
	finder, err := newFinder(o, cfg)
	if err != nil {
		return err
	}
	o.ReadOnly = true
	opened, err := o.OpenExisting(ctx, cfg, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	item, err := finder.item(ctx, s, paths)
	if err != nil {
		return err
	}
	mask, err := sinks.Mask(cfg)
	if err != nil {
		return err
	}
	hasAttributeNames := finder.key.Attributes.Exists() || len(paths) > 0 || o.Live
	if mask != nil && !hasAttributeNames {
		return cli.Usagef(
			"a canonical key does not show what is sensitive in it: give --key as PK=...,SK=..., or name the records")
	}
	comparison, err := Compare(ctx, Request{Config: cfg, Stores: opened, Mask: mask, Item: item.ItemState,
		Source: item.source, Extensions: s.Extensions})
	if err != nil {
		return err
	}
	if err := cli.Print(s.Out, o.format, comparison, comparison.write); err != nil || comparison.Differing == 0 {
		return err
	}
	return cli.WithExitCode(cli.ExitFailure, fmt.Errorf(
		"%s as the item says that it should be; where dead letters of it are listed, fix their cause and run tablewake redrive",
		cli.CountWithVerb(int64(comparison.Differing), "place", "is not", "are not")))
}

// write prints the comparison for people.
func (a Comparison) write(w io.Writer) {
	fmt.Fprintf(w, "item  %s\n", a.Key)
	switch {
	case !a.Compared:
		fmt.Fprintf(w, "  %s: what it should hold is unknown\n", a.From)
	case !a.There:
		fmt.Fprintf(w, "  %s: it is not there%s\n", a.From, versionSuffix(a.Version))
	default:
		fmt.Fprintf(w, "  %s: %s%s\n", a.From, cli.Count(a.attributes, "attribute"), versionSuffix(a.Version))
	}
	if a.Dropped != "" {
		fmt.Fprintf(w, "  the filter %s drops its changes: the sinks are not looked into\n", a.Dropped)
	}
	for i := range a.Sinks {
		a.Sinks[i].write(w)
	}
	for _, l := range a.letters {
		fmt.Fprintf(w, "dead letter of %s%s: %s: %s\n", cmp.Or(l.Sink, "every sink"), versionSuffix(versionText(l.Version)),
			l.Class, l.Error)
	}
}

func (s *Sink) write(w io.Writer) {
	fmt.Fprintf(w, "%s (%s)\n", s.Name, s.Kind)
	if s.Note != "" {
		fmt.Fprintf(w, "  %s\n", s.Note)
	}
	if s.QuarantinedSince != nil {
		fmt.Fprintf(w, "  quarantined since %s: later changes of the key go to dead letters\n",
			s.QuarantinedSince.UTC().Format(time.RFC3339))
	}
	for _, f := range s.Findings {
		fmt.Fprintf(w, "  %-12s %s: %s%s%s\n", f.Kind, f.Where, f.Found, versionSuffix(f.Version), verdictTexts[f.Verdict])
		for _, difference := range f.Differs {
			fmt.Fprintf(w, "  %-12s   %s\n", "", difference)
		}
	}
}

var verdictTexts = map[Verdict]string{
	Same: "  [as it should be]", Missing: "  [MISSING]", Differs: "  [DIFFERS]", Leftover: "  [LEFT OVER]",
	Taken: "  [TAKEN by another item]", Waits: "  [this item waits, rightly]", Gone: "  [rightly gone]",
}

func versionSuffix(version string) string {
	return cli.Choose(version == "", "", ", version "+version)
}

// versionText formats a version; "" for the zero version.
func versionText(v record.Version) string {
	return cli.Choose(v.IsZero(), "", v.String())
}
