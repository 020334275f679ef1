package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// onDemandWritePrice is the price of a million write units of an on-demand table, in US dollars, as AWS lists it for
// us-east-1 since November 2024.
const onDemandWritePrice = 0.625

// costFlags are the flags of the cost of filling.
type costFlags struct {
	items []string
	keys  []string
	total int64
	price float64
}

func (f *costFlags) addCost(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.items, "items", nil, "items of the table, as JSON lines or the data files of an export: add what filling the new sinks costs")
	c.Flags().StringSliceVar(&f.keys, "keys", nil, "names of the table's key attributes, partition key first, for --items")
	c.Flags().Int64Var(&f.total, "total", 0, "number of items of the table, of which --items are a sample (default: they are all)")
	c.Flags().Float64Var(&f.price, "write-price", onDemandWritePrice, "US dollars a million write units")
}

// cost is what filling the sinks costs that are new or wait.
type cost struct {
	Sampled int64      `json:"sampled_items"`
	Items   int64      `json:"items"` // of the table
	Price   float64    `json:"dollars_a_million_write_units"`
	Sinks   []sinkCost `json:"sinks"`
}

// sinkCost is what filling one sink costs.
type sinkCost struct {
	Sink       string  `json:"sink"`
	Items      int64   `json:"items"`       // items with a row, a share or a document
	WriteUnits float64 `json:"write_units"` // 0: the sink does not write to DynamoDB
	Dollars    float64 `json:"dollars"`
}

// addCosts adds the cost of filling to r, if --items names any.
func (o *options) addCosts(ctx context.Context, s cli.Streams, cfg *config.Config, r *report) error {
	switch {
	case o.total < 0 || o.price < 0:
		return cli.Usagef("--total and --write-price must not be negative")
	case len(o.items) == 0 && o.total > 0:
		return cli.Usagef("--total needs --items: the sample to count with")
	case len(o.items) == 0:
		return nil
	}
	var fill []string
	for _, p := range r.Sinks {
		if p.isUnfilled {
			fill = append(fill, p.Sink)
		}
	}
	planner, err := sinks.Assemble(ctx, cfg, sinks.PlanOnly(), sinks.Backfill(sinks.BackfillOptions{Sinks: fill}))
	if err != nil {
		return err
	}
	r.Cost = &cost{Price: o.price, Sinks: []sinkCost{}}
	index := make(map[string]int)
	for _, name := range fill {
		index[name] = len(r.Cost.Sinks)
		r.Cost.Sinks = append(r.Cost.Sinks, sinkCost{Sink: name})
	}
	undecodable := 0
	for page, err := range o.pages(ctx, cfg) {
		if err != nil {
			return err
		}
		undecodable += len(page.Errors)
		for i := range page.Changes {
			r.Cost.add(&page.Changes[i], planner, index)
		}
	}
	if undecodable > 0 {
		fmt.Fprintf(s.Err, cli.Warning+"%d lines of --items are no items, and cost nothing here\n", undecodable)
	}
	return r.Cost.scale(o.total)
}

// pages yields the decoded pages of --items. An error ends the sequence.
func (o *options) pages(ctx context.Context, cfg *config.Config) iter.Seq2[*record.Page, error] {
	return func(yield func(*record.Page, error) bool) {
		if len(o.keys) == 0 {
			yield(nil, cli.Usagef("--items needs --keys: the names of the table's key attributes, as PK,SK"))
			return
		}
		decoder := record.SnapshotOptions{DecoderOptions: o.Decoder(cfg), Keys: o.keys}
		files, err := items.Open(items.Options{Paths: o.items, Decoder: decoder})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, part := range files.Parts() {
			if err := readPart(ctx, files, part.ID, yield); err != nil {
				if !errors.Is(err, errEnough) {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// errEnough ends the reading of a part because nobody wants more.
var errEnough = errors.New("enough is read")

func readPart(ctx context.Context, files snapshot.Snapshot, id string, yield func(*record.Page, error) bool) error {
	part, err := files.Open(ctx, id, "")
	if err != nil {
		return err
	}
	defer part.Close()
	for {
		read, err := part.Read(ctx)
		if read != nil {
			page, err := read.Decode()
			if err != nil {
				return err
			}
			if !yield(page, nil) {
				return errEnough
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// add adds the cost of one item.
func (c *cost) add(change *record.Change, planner *pipeline.Pipeline, index map[string]int) {
	c.Sampled++
	for _, route := range planner.Explain(change).Routes {
		i, ok := index[route.Name]
		if !ok || route.Err != nil || route.Outcome == pipeline.NoEffect || len(route.Ops) == 0 {
			continue
		}
		units, writes := dynamo.CostOf(change, route.Ops)
		if writes && units.WriteUnits == 0 {
			continue
		}
		c.Sinks[i].Items++
		c.Sinks[i].WriteUnits += units.WriteUnits
	}
}

// scale makes the cost of a sample that of the table. total is the number of its items; 0: the sample has all.
func (c *cost) scale(total int64) error {
	c.Items = max(total, c.Sampled)
	if total > 0 && total < c.Sampled {
		return cli.Usagef("--total %d is less than the %d items of --items", total, c.Sampled)
	}
	factor := 1.0
	if c.Sampled > 0 {
		factor = float64(c.Items) / float64(c.Sampled)
	}
	for i := range c.Sinks {
		s := &c.Sinks[i]
		s.Items = int64(float64(s.Items) * factor)
		s.WriteUnits *= factor
		s.Dollars = s.WriteUnits / 1e6 * c.Price
	}
	return nil
}

func (c *cost) write(w io.Writer) {
	if len(c.Sinks) == 0 {
		return
	}
	fmt.Fprintf(w, "\nfilling, of %s items", cli.Thousands(c.Items))
	if c.Items > c.Sampled {
		fmt.Fprintf(w, ", by a sample of %s", cli.Thousands(c.Sampled))
	}
	fmt.Fprintf(w, ", at $%g a million write units:\n", c.Price)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "sink\titems\twrite units\tdollars\t")
	for _, s := range slices.Clone(c.Sinks) {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.2f\t\n", s.Sink, cli.Thousands(s.Items), cli.Thousands(int64(s.WriteUnits)), s.Dollars)
	}
	_ = tw.Flush()
}
