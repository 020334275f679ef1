package explain

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	awscost "github.com/tablewake/tablewake/pipeline/telemetry/cost"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// costOptions are the flags of `cost`.
type costOptions struct {
	records.Input
	format cli.Format
}

// NewCost is the command cost.
func NewCost(s cli.Streams) *cobra.Command {
	var o costOptions
	c := &cobra.Command{
		Use:   "cost -c FILE [PATH...]",
		Short: "Show what each sink costs in DynamoDB's write and read units",
		Long: `cost shows the DynamoDB write and read units that one change costs in each view and each aggregate
of a configuration. If you name records, it also adds up the units of all of them: it plans every
change with the same code as the pipeline, and prices it by DynamoDB's rules for item sizes. It
writes nothing.

The price is that of a change that is written alone and succeeds at the first try. DynamoDB charges
a write for the larger of the old and the new row. cost computes the old row from the old image, so
records without an old image cost more than shown. Aggregates cost less in batches, because a
group's row is written once for a whole batch. Large rows of groups, indexes of a table and retries
cost more. Dollars are list prices of us-east-1, on demand.

With records, cost also shows how to save: a filter for a sink that does not need all changes, or
the other kind of tombstones.`,
		Example: `  tablewake cost -c tablewake.yaml
  tablewake cost -c tablewake.yaml stream.jsonl
  tablewake cost -c tablewake.yaml -o json stream.jsonl | jq '.sinks[] | {sink, write_units}'`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), s, args) },
	}
	o.Add(c)
	cli.AddFormat(c, &o.format)
	return c
}

// costs is the output of `cost -o json`.
type costs struct {
	Changes int64      `json:"changes"`
	Sinks   []sinkCost `json:"sinks"`

	indexes map[string]int // indexes in Sinks, by name
}

// sinkCost is the cost of one view or aggregate.
type sinkCost struct {
	Sink       string  `json:"sink"`
	Rule       string  `json:"rule"`        // in words
	Changes    int64   `json:"changes"`     // changes with a cost
	WriteUnits float64 `json:"write_units"` // write units of all changes
	ReadUnits  float64 `json:"read_units"`
	Most       float64 `json:"most_write_units"` // write units of the most expensive change
	Dollars    float64 `json:"dollars"`          // at the list prices of us-east-1, on demand

	// OtherTombstones has the write units with the other kind of tombstones; absent if the kind makes no difference
	OtherTombstones float64 `json:"write_units_with_other_tombstones,omitempty"`
	// Advice lists edits of the configuration file that would lower the cost
	Advice []string `json:"advice,omitempty"`

	inPlace bool        // the view has the setting tombstones: in_place
	idle    idleChanges // the changes that cost a read and no write
}

// The list prices of a write unit and a read unit.
var writePrice, readPrice = awscost.DynamoDBUnitPrices()

func (o *costOptions) run(ctx context.Context, s cli.Streams, paths []string) error {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	p, err := sinks.Assemble(ctx, cfg, sinks.PlanOnly(), s.HoldCustomForPlan(cfg, "replay"), sinks.SuppressEvents("replay"))
	if err != nil {
		return err
	}
	sum := newCosts(cfg)
	if len(paths) == 0 {
		return cli.Print(s.Out, o.format, sum, sum.writeRules)
	}
	if err := sum.addRecords(o.Pages(ctx, cfg, s, paths), p, s.Err); err != nil {
		return err
	}
	sum.setAdvice()
	return cli.Print(s.Out, o.format, sum, func(w io.Writer) {
		sum.writeRules(w)
		if len(sum.Sinks) > 0 {
			sum.writeCounts(w)
		}
	})
}

// newCosts returns costs that have the rules of the sinks that write to DynamoDB, and count no change yet.
func newCosts(cfg *config.Config) costs {
	c := costs{Sinks: []sinkCost{}, indexes: make(map[string]int)}
	for _, sink := range cfg.Sinks {
		if rule := costRule(sink); rule != "" {
			c.indexes[sink.Name] = len(c.Sinks)
			c.Sinks = append(c.Sinks, sinkCost{
				Sink: sink.Name, Rule: rule, inPlace: sink.View != nil && sink.View.InPlace, idle: make(idleChanges),
			})
		}
	}
	return c
}

// addRecords adds the cost of each change of the records. It prints to stderr how many records cannot be decoded.
func (c *costs) addRecords(pages iter.Seq2[*record.Page, error], p *pipeline.Pipeline, stderr io.Writer) error {
	undecodable := 0
	for page, err := range pages {
		undecodable += len(page.Errors)
		for i := range page.Changes {
			c.Changes++
			c.addChange(p.Explain(&page.Changes[i]))
		}
		if err != nil {
			return err
		}
	}
	if undecodable > 0 {
		fmt.Fprintf(stderr, "not decoded, and without cost here: %s; tablewake explain names them\n",
			cli.Count(undecodable, "record"))
	}
	return nil
}

// addChange adds the cost of one change.
func (c *costs) addChange(x pipeline.Explanation) {
	for _, route := range x.Routes {
		i, writesToDynamoDB := c.indexes[route.Name]
		if !writesToDynamoDB || route.Err != nil {
			continue
		}
		cost, ok := dynamo.CostOf(x.Change, route.Ops)
		if !ok {
			continue
		}
		s := &c.Sinks[i]
		s.Changes++
		s.WriteUnits += cost.WriteUnits
		s.ReadUnits += cost.ReadUnits
		s.Most = max(s.Most, cost.WriteUnits)
		s.OtherTombstones += cost.OtherTombstones
		s.Dollars += cost.WriteUnits*writePrice.Dollars + cost.ReadUnits*readPrice.Dollars
		s.idle.add(x.Change.Keys, cost)
	}
}

// costRule describes the DynamoDB units of one change at a sink, and how many queries a read of its shards needs. It
// returns "" if the sink does not write to DynamoDB.
func costRule(s config.Sink) string {
	rule := writeRule(s)
	switch {
	case s.View != nil && s.View.Shards > 1:
		rule += fmt.Sprintf("; a read of a partition is %d queries, one of each shard", s.View.Shards)
	case s.Aggregate != nil && s.Aggregate.Shards > 1:
		rule += fmt.Sprintf("; a read of a group is %d queries, one of each shard", s.Aggregate.Shards)
	}
	return rule
}

// writeRule describes the DynamoDB units of one change at a sink. It returns "" if the sink does not write to DynamoDB.
func writeRule(s config.Sink) string {
	switch {
	case s.View != nil && s.View.ForEach != nil:
		return "2 write units for each KB of each row that differs, enters or leaves, the larger of the old and the new, and 2 for each KB of the contribution that names the rows; 1 for each KB of it where no row differs; 1 read unit for each 4 KB of it"
	case s.View != nil && s.View.RowsMayGuardThemselves() && s.View.InPlace:
		return "1 write unit for each KB of the larger of the old and the new row where it enters, stays or leaves, 2 writes where it moves (with tombstones: apart it is 4, 1, 4 and 8, and a plain reader finds live rows only)"
	case s.View != nil && s.View.RowsMayGuardThemselves():
		return "1 write unit for each KB of the row where it stays; 4 where it enters, 4 where it leaves, 8 where it moves: 2 for each KB of a row, 2 for its tombstone; a KB is that of the larger of the old and the new row (with tombstones: in_place it is 1, 1, 1 and 2, and readers leave tombstones out)"
	case s.View != nil:
		return "guarded by item: 2 write units for each KB of the row and of its claim, the larger of the old and the new, 4 for guard and seat, 3 read units; where the item leaves another row, as much for that one, but for the guard"
	case s.Aggregate != nil:
		rule := "2 write units for each KB of what the item counts for, or of what it counted for if that is larger, 2 for each group row that changes, 1 read unit"
		keepsValues := func(v config.AggregateValue) bool {
			return v.Kind == "min" || v.Kind == "max" || v.Kind == "distinct"
		}
		if slices.ContainsFunc(s.Aggregate.Values, keepsValues) {
			rule += "; 2 write units and 1 to 2 read units more for each min, max and distinct"
		}
		return rule
	}
	return ""
}

// writeRules prints the rule of each sink.
func (c costs) writeRules(w io.Writer) {
	if len(c.Sinks) == 0 {
		fmt.Fprintln(w, "no view and no aggregate: nothing is written to DynamoDB")
	}
	for _, s := range c.Sinks {
		fmt.Fprintf(w, "%s: %s\n", s.Sink, s.Rule)
	}
}

// writeCounts prints a table of the units of each sink, and the advice.
func (c costs) writeCounts(w io.Writer) {
	fmt.Fprintf(w, "\nof %s:\n", cli.Count(c.Changes, "change"))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "sink\tchanges\twrite units\tread units\twrite units a change\tmost\t$ a million changes\t")
	perMillion := func(dollars float64) float64 { return dollars / max(float64(c.Changes), 1) * 1e6 }
	var all sinkCost
	for _, s := range c.Sinks {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%.2f\t%s\t%.2f\t\n", s.Sink, cli.Thousands(s.Changes),
			cli.Thousands(int64(s.WriteUnits)), cli.Thousands(int64(s.ReadUnits)),
			s.WriteUnits/max(float64(s.Changes), 1), dynamo.FormatUnits(s.Most), perMillion(s.Dollars))
		all.WriteUnits += s.WriteUnits
		all.ReadUnits += s.ReadUnits
		all.Dollars += s.Dollars
	}
	fmt.Fprintf(tw, "all\t\t%s\t%s\t\t\t%.2f\t\n", cli.Thousands(int64(all.WriteUnits)),
		cli.Thousands(int64(all.ReadUnits)), perMillion(all.Dollars))
	_ = tw.Flush()
	for _, s := range c.Sinks {
		for _, advice := range s.Advice {
			fmt.Fprintf(w, "%s: %s\n", s.Sink, advice)
		}
	}
}

// unitCostJSON is the cost of one change at one sink, in DynamoDB units.
type unitCostJSON struct {
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
	Why        string  `json:"why"`
}

// String formats the cost as a line of `explain`.
func (u unitCostJSON) String() string {
	return fmt.Sprintf("on DynamoDB %s write and %s read units: %s",
		dynamo.FormatUnits(u.WriteUnits), dynamo.FormatUnits(u.ReadUnits), u.Why)
}
