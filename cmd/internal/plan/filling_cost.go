package plan

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	awscost "github.com/tablewake/tablewake/pipeline/telemetry/cost"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// costFlags are the flags for computing the cost of filling new sinks.
type costFlags struct {
	items  []string
	keys   []string
	total  int64
	price  float64
	sample int
}

func (f *costFlags) addCostFlags(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.items, "items", nil,
		"compute the cost of filling from these items: JSON lines or the data files of an export")
	c.Flags().StringSliceVar(&f.keys, "keys", nil, "names of the table's key attributes, partition key first, for --items")
	c.Flags().Int64Var(&f.total, "total", 0,
		"number of items of the table (default: DynamoDB's count, or the number of --items)")
	c.Flags().IntVar(&f.sample, "sample", 1000,
		"with --live: compute the cost of filling from this many items of the table, at most 2 MB; 0 reads none")
	c.Flags().Float64Var(&f.price, "write-price", writePrice.Dollars*1e6, "US dollars a million write units")
}

// writePrice and readPrice are the list prices of a write unit and a read unit.
var writePrice, readPrice = awscost.DynamoDBUnitPrices()

// cost is the cost of filling the sinks that no backfill has begun to fill.
type cost struct {
	// Unknown is the reason why the cost is unknown, with what to do; Sinks is empty then
	Unknown string     `json:"unknown,omitempty"`
	Sampled int64      `json:"sampled_items"`
	Items   int64      `json:"items"` // number of items in the table
	Price   float64    `json:"dollars_a_million_write_units"`
	Sinks   []sinkCost `json:"sinks"`
	Table   *tableCost `json:"table,omitempty"` // absent if the table was not read, as with --items
}

// sinkCost is the cost of filling one sink.
type sinkCost struct {
	Sink       string  `json:"sink"`
	Items      int64   `json:"items"`       // items with an entry in the sink: a row, a contribution or a document
	Entries    int64   `json:"entries"`     // number of these entries; an item may have several
	WriteUnits float64 `json:"write_units"` // 0 for a sink that does not write to DynamoDB
	Dollars    float64 `json:"dollars"`
}

// checkCostFlags returns a usage error if the flags about costs contradict each other.
func (o *options) checkCostFlags() error {
	hasSample := len(o.items) > 0 || o.Live && o.sample != 0
	switch {
	case o.total < 0 || o.price < 0 || o.sample < 0:
		return cli.Usagef("--total, --sample and --write-price must not be negative")
	case o.total > 0 && !hasSample:
		return cli.Usagef("--total needs --items: the sample to count with")
	case len(o.items) > 0 && len(o.keys) == 0:
		return cli.Usagef("--items needs --keys: the names of the table's key attributes, as PK,SK")
	}
	return nil
}

// costOf returns the cost of filling the given sinks; nil if there are none.
func (o *options) costOf(ctx context.Context, s cli.Streams, cfg *config.Config, unfilled []string) (*cost, error) {
	if len(unfilled) == 0 {
		return nil, nil
	}
	planner, err := sinks.Assemble(ctx, cfg, sinks.PlanOnly(), s.HoldCustomForPlan(cfg, "plan"),
		sinks.Backfill(sinks.BackfillOptions{Sinks: unfilled}))
	if err != nil {
		return nil, err
	}
	c := &cost{Price: o.price, Sinks: []sinkCost{}}
	reader, err := o.openSample(ctx, cfg, c)
	if err != nil || c.Unknown != "" {
		return c, err
	}
	for _, name := range unfilled {
		c.Sinks = append(c.Sinks, sinkCost{Sink: name})
	}
	undecodable, err := c.addSample(ctx, reader, planner)
	tableFailed := err != nil && c.Table != nil && ctx.Err() == nil
	switch {
	case tableFailed: // the plan is printed without the cost
		c.Sinks, c.Unknown = []sinkCost{}, unknownCost(fmt.Errorf("the sample cannot be read: %w", err))
		return c, nil
	case err != nil:
		return nil, err
	case undecodable > 0:
		fmt.Fprintf(s.Err, cli.Warning+"%s of --items %s here\n", cli.Count(undecodable, "line"),
			cli.Choose(undecodable == 1, "is not an item, and costs nothing", "are not items, and cost nothing"))
	}
	return c, c.scale(o.total, reader)
}

// addSample adds the cost of all items of a sample. It returns the number of items that cannot be decoded.
func (c *cost) addSample(
	ctx context.Context, reader *sampleReader, planner *pipeline.Pipeline,
) (undecodable int, err error) {
	for page, err := range reader.pages(ctx) {
		if err != nil {
			return 0, err
		}
		undecodable += len(page.Errors)
		for i := range page.Changes {
			c.add(&page.Changes[i], planner)
		}
	}
	return undecodable, nil
}

// openSample opens the items from which the cost is computed. They are the items in the files of --items. Without
// --items, and with --live, they are some items of the table. If it can open neither, it sets c.Unknown and returns
// nil.
func (o *options) openSample(ctx context.Context, cfg *config.Config, c *cost) (*sampleReader, error) {
	decoder := record.SnapshotOptions{DecoderOptions: o.Decoder(cfg), Keys: o.keys, Kinesis: cfg.Source.Kinesis != ""}
	switch {
	case len(o.items) > 0:
		files, err := items.Open(ctx, items.Options{Paths: o.items, Decoder: decoder, Sample: true})
		return &sampleReader{Snapshot: files}, err
	case !o.Live:
		c.Unknown = "name some items of the table with --items FILE --keys PK,SK"
	case o.sample == 0:
		c.Unknown = "--sample is 0: name some items of the table with --items FILE --keys PK,SK"
	case len(cfg.Source.Tables) > 1:
		c.Unknown = "the file has several source tables: name some of their items with --items FILE --keys PK,SK"
	}
	if c.Unknown != "" {
		return nil, nil
	}
	return o.openTable(ctx, cfg, decoder, c)
}

// add adds the cost of one item.
func (c *cost) add(change *record.Change, planner *pipeline.Pipeline) {
	c.Sampled++
	for _, route := range planner.Explain(change).Routes {
		i := slices.IndexFunc(c.Sinks, func(s sinkCost) bool { return s.Sink == route.Name })
		hasEffect := route.Err == nil && route.Outcome != pipeline.NoEffect && len(route.Ops) > 0
		if i < 0 || !hasEffect {
			continue
		}
		units, isDynamoDB := dynamo.CostOf(change, route.Ops)
		if isDynamoDB && units.WriteUnits == 0 {
			continue
		}
		c.Sinks[i].Items++
		c.Sinks[i].Entries += int64(len(route.Ops))
		c.Sinks[i].WriteUnits += units.WriteUnits
	}
}

// scale multiplies the cost of the sample to get the cost of the table. total is the number of items of the table. If
// total is 0, scale uses DynamoDB's count. Without a table, or if the sample is the whole table, it uses the number of
// items in the sample.
func (c *cost) scale(total int64, reader *sampleReader) error {
	if c.Table == nil && total > 0 && total < c.Sampled {
		return cli.Usagef("--total %d is less than the %d items of --items", total, c.Sampled)
	}
	if c.Table != nil {
		c.Table.SampleUnits = reader.table.Units()
		if total == 0 && !reader.allRead {
			total = c.Table.Items
		}
		if c.Sampled > 0 {
			c.Table.ScanUnits = max(float64(c.Table.Bytes)/4096, c.Table.SampleUnits)
		}
	}
	c.Items = max(total, c.Sampled)
	factor := float64(c.Items) / float64(max(c.Sampled, 1)) // without a sample, the costs are 0
	for i := range c.Sinks {
		s := &c.Sinks[i]
		s.Items, s.Entries = int64(float64(s.Items)*factor), int64(float64(s.Entries)*factor)
		s.WriteUnits *= factor
		s.Dollars = s.WriteUnits / 1e6 * c.Price
	}
	return nil
}

func (c *cost) write(w io.Writer) {
	fmt.Fprintln(w)
	if c.Table != nil {
		c.Table.write(w)
	}
	if c.Unknown != "" {
		fmt.Fprintf(w, "what filling costs is unknown: %s\n", c.Unknown)
		return
	}
	fmt.Fprintf(w, "filling, of %s", cli.Count(c.Items, "item"))
	if c.Items > c.Sampled {
		fmt.Fprintf(w, ", by a sample of %s", cli.Thousands(c.Sampled))
	}
	fmt.Fprintf(w, ", at $%g a million write units:\n", c.Price)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "sink\titems\tentries\twrite units\tdollars\t")
	for _, s := range c.Sinks {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%.2f\t\n", s.Sink, cli.Thousands(s.Items), cli.Thousands(s.Entries),
			cli.Thousands(int64(s.WriteUnits)), s.Dollars)
	}
	_ = tw.Flush()
	if c.Table != nil && c.Table.ScanUnits > 0 {
		fmt.Fprintf(w, "backfill --scan reads the table for about %s read units, $%.2f\n",
			cli.Thousands(int64(c.Table.ScanUnits+0.5)), c.Table.ScanUnits*readPrice.Dollars)
	}
}
