package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// options are the flags of `plan`.
type options struct {
	records.Input
	target.Flags
	costFlags
	format cli.Format
}

// New returns the command plan.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "plan -c FILE (--live | --local DIR)",
		Short: "Show what a changed configuration means for the outputs of its sinks",
		Long: `plan compares each sink of a configuration with what the sink has written, and changes nothing:

  =  unchanged: the sink continues
  +  new: the sink waits until a backfill fills it
  ~  changed: the output was written with other settings; a start is refused, or accepts them if the output is empty
  -  removed: the file no longer has the sink; its output stays
  !  not derivable: a backfill cannot bring this, because no item of the table has it

It also shows what it costs to fill the new sinks. It plans a sample of the table's items, or those of --items, with the
same code as the pipeline, and prices them by DynamoDB's rules. With --live, Scan reads the sample. DynamoDB's count of
the items, which is up to six hours old, gives the cost of all items; --total replaces the count.`,
		Example: `  tablewake plan -c tablewake.yaml --live
  tablewake plan -c tablewake.yaml --live --sample 0
  tablewake plan -c tablewake.yaml --live --items sample.jsonl --keys PK,SK --total 50000000
  tablewake plan -c tablewake.yaml --local out -o json | jq '.sinks[] | select(.change != "unchanged")'`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	cli.AddConfig(c, &o.Config)
	o.Flags.Add(c, "the folder that a replay or a consumer wrote")
	o.addCostFlags(c)
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams) (err error) {
	cfg, err := o.LoadConfig(o.Config)
	if err != nil {
		return err
	}
	if err := o.checkCostFlags(); err != nil {
		return err
	}
	o.ReadOnly = true
	opened, err := o.OpenExisting(ctx, cfg, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	changes, err := sinks.CompareOutputs(ctx, cfg, opened)
	if errors.Is(err, dynamo.ErrNoTable) {
		fmt.Fprintf(s.Err, cli.Warning+
			"the state table %s is missing: the pipeline never ran, or its state was lost (`tablewake adopt` shows it)\n",
			cfg.State.Table.Name)
		changes, err = sinks.AddedOutputs(cfg), nil
	}
	if err != nil {
		return err
	}
	r := newReport(changes, o.CommandLine(cfg), o.BackfillSource(cfg))
	if r.Cost, err = o.costOf(ctx, s, cfg, r.unfilled()); err != nil {
		return err
	}
	if err := cli.Print(s.Out, o.format, r, r.write); err != nil {
		return err
	}
	if r.Todo > 0 {
		return cli.WithExitCode(cli.ExitPlanned, nil)
	}
	return nil
}

// report is the output of `plan -o json`.
type report struct {
	Todo  int        `json:"to_do"` // number of sinks with something to do
	Sinks []sinkPlan `json:"sinks"`
	Cost  *cost      `json:"cost,omitempty"` // absent if no sink is to be filled
}

// sinkPlan describes what the configuration means for the output of one sink.
type sinkPlan struct {
	Sink     string        `json:"sink"`
	Target   string        `json:"target"`
	Change   string        `json:"change"` // unchanged, new, changed or removed
	Stage    string        `json:"stage"`  // waiting, filling, settling or live; "" if nothing was written
	Settings []settingJSON `json:"settings,omitempty"`
	Problem  string        `json:"problem,omitempty"`
	Todo     string        `json:"to_do,omitempty"`   // what to do
	Command  string        `json:"command,omitempty"` // the command to run
	Note     string        `json:"note,omitempty"`    // information that needs no action
	// LeftThere are removed sinks whose rows or documents are still in the target of this sink
	LeftThere   []string `json:"left_there,omitempty"`
	Underivable []string `json:"not_derivable,omitempty"`

	isUnfilled bool // the sink can be filled, and no backfill of it has begun
	isRefused  bool // a start is refused because of this sink
}

// settingJSON is a setting of a sink that has changed.
type settingJSON struct {
	Name string `json:"name"`
	Old  string `json:"was"`
	New  string `json:"is"`
}

// newReport returns the report of the changes. It adds flags to every command that it suggests, and source to each
// backfill command.
func newReport(changes []sinks.OutputChange, flags, source string) report {
	r := report{Sinks: []sinkPlan{}}
	for _, c := range changes {
		p := newSinkPlan(c, flags, source)
		if p.Todo != "" {
			r.Todo++
		}
		r.Sinks = append(r.Sinks, p)
	}
	return r
}

// unfilled returns the names of the sinks that can be filled, and that no backfill has begun to fill.
func (r *report) unfilled() (names []string) {
	for _, p := range r.Sinks {
		if p.isUnfilled {
			names = append(names, p.Sink)
		}
	}
	return names
}

func (r *report) write(w io.Writer) {
	for _, p := range r.Sinks {
		p.write(w)
	}
	if r.Cost != nil {
		r.Cost.write(w)
	}
	if r.Todo == 0 {
		fmt.Fprintln(w, "there is nothing to do")
		return
	}
	fmt.Fprintf(w, "%s something to do\n", cli.CountWithVerb(r.Todo, "sink", "has", "have"))
	refusesStart := slices.ContainsFunc(r.Sinks, func(p sinkPlan) bool { return p.isRefused })
	if r.Todo > 1 && refusesStart {
		fmt.Fprintln(w, "begin with the sinks for which a start is refused: until then the other commands are refused, too")
	}
}
