package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/cmd/tablewake/internal/why"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks"
)

// whyOptions are the flags of `why`.
type whyOptions struct {
	records.Input
	target.Flags
	key    string
	table  string
	format cli.Format
}

func newWhy(s cli.Streams) *cobra.Command {
	var o whyOptions
	c := &cobra.Command{
		Use:   "why -c FILE --key PK=...,SK=... (--live | --local DIR [PATH...])",
		Short: "Compare one item with all that the sinks hold of it",
		Long: `why reads one item and everything that the sinks hold of it: rows, documents, guards,
tombstones, what it counts for in aggregates, dead letters, quarantine. It shows them side by
side, with the version of each, and says which are not as the item says that they should be.
What should be there is planned by the code that the pipeline runs. Nothing is written. What
other items have a share in, the row of a group, is shown and not compared, and where the item
was before is searched only if something tells: the answer says what it leaves out.

With --live the item is read from the source table. With --local it is the last state of it in
the records that are named, those that were replayed; without any the places are found, and
not compared.

Values are not shown: only where they are, and the names of attributes that differ. The exit code is
1 where something differs.`,
		Example: `  tablewake why -c tablewake.yaml --key 'PK=USER#001,SK=PROFILE' --live
  tablewake why -c tablewake.yaml --key 'PK=USER#001,SK=ORDER#000001' --local out stream.jsonl
  tablewake why -c tablewake.yaml --key 'USER%23001,PROFILE' --local out -o json stream.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), s, args) },
	}
	o.Input.Add(c)
	o.Flags.Add(c, "look into this folder, which a replay wrote")
	f := c.Flags()
	f.StringVar(&o.key, "key", "", "the item's key attributes, PK=...,SK=..., or its canonical key (required)")
	f.StringVar(&o.table, "table", "", "the item's table, where the configuration names several")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *whyOptions) run(ctx context.Context, s cli.Streams, paths []string) (err error) {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	if o.key == "" {
		return cli.Usagef("--key is missing; " + keyUsage)
	}
	find, err := newFinder(o, cfg)
	if err != nil {
		return err
	}
	o.LookOnly = true
	opened, err := o.OpenWritten(ctx, cfg, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	item, err := find.item(ctx, s, paths)
	if err != nil {
		return err
	}
	mask, err := sinks.Mask(cfg)
	if err != nil {
		return err
	}
	if mask != nil && !find.key.attributes.Exists() && len(paths) == 0 && !o.Live {
		return cli.Usagef("what is sensitive of a canonical key nobody can tell: give --key as PK=...,SK=..., or name the records")
	}
	a, err := why.Ask(ctx, why.Question{Config: cfg, Stores: opened, Mask: mask, Item: item.change})
	if err != nil {
		return err
	}
	seen := seenItem{key: mask.Key(&item.change), from: item.from, gone: !item.change.New.Exists(), attributes: item.change.New.Len(), compared: item.known}
	if item.change.Sequence != "0" {
		seen.version = item.change.Version
	}
	for i := range a.Letters {
		a.Letters[i] = letters.Mask(mask, a.Letters[i])
	}
	if o.format == cli.FormatJSON {
		err = cli.WriteJSON(s.Out, answerOf(seen, a))
	} else {
		writeAnswer(s.Out, seen, a)
	}
	if n := a.Differing(); err == nil && n > 0 && item.known {
		return cli.Exit(cli.ExitFailure, fmt.Errorf("%d places are not as the item says that they should be; where dead letters of it are listed, mend their cause and run tablewake redrive", n))
	}
	return err
}

// seenItem is the item as the answer shows it.
type seenItem struct {
	key        pipeline.Key
	from       string // where it was read
	version    pipeline.Version
	gone       bool
	attributes int
	compared   bool // false: nothing is known of what it should be
}

func writeAnswer(w io.Writer, it seenItem, a why.Answer) {
	fmt.Fprintf(w, "item  %s\n", it.key)
	switch {
	case !it.compared:
		fmt.Fprintf(w, "  %s: what it should come to is not known\n", it.from)
	case it.gone:
		fmt.Fprintf(w, "  %s: it is not there%s\n", it.from, at(it.version))
	default:
		fmt.Fprintf(w, "  %s: %d attributes%s\n", it.from, it.attributes, at(it.version))
	}
	if a.Dropped != "" {
		fmt.Fprintf(w, "  the filter %s drops its changes: the sinks are not looked into\n", a.Dropped)
	}
	for _, s := range a.Sinks {
		fmt.Fprintf(w, "%s (%s)\n", s.Name, s.Kind)
		if s.Says != "" {
			fmt.Fprintf(w, "  %s\n", s.Says)
		}
		if s.Held != nil {
			fmt.Fprintf(w, "  quarantined since %s: later changes of the key go to dead letters\n", s.Held.Since.UTC().Format("2006-01-02T15:04:05Z"))
		}
		for _, p := range s.Places {
			fmt.Fprintf(w, "  %-12s %s: %s%s%s\n", p.Kind, p.Where, p.Found, at(p.Version), verdictText(it, p))
			for _, d := range p.Differs {
				if it.compared {
					fmt.Fprintf(w, "  %-12s   %s\n", "", d)
				}
			}
		}
	}
	for _, l := range a.Letters {
		sink := l.Sink
		if sink == "" {
			sink = "every sink"
		}
		fmt.Fprintf(w, "dead letter of %s%s: %s: %s\n", sink, at(l.Version), l.Class, l.Error)
	}
}

func verdictText(it seenItem, p why.Place) string {
	if !it.compared || p.Verdict == why.Info {
		return ""
	}
	text := map[why.Verdict]string{
		why.Same: "as it should be", why.Missing: "MISSING", why.Differs: "DIFFERS", why.Leftover: "LEFT OVER",
		why.Taken: "TAKEN, this item waits", why.Gone: "rightly gone",
	}[p.Verdict]
	return "  [" + text + "]"
}

func at(v pipeline.Version) string {
	if v.IsZero() {
		return ""
	}
	return ", version " + v.String()
}
