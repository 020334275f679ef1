package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/internal/rowqueue"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("audit")

// Open opens the sinks of cfg that keep state, or those that o.Sinks names, in the order of the file. It returns an
// error that names the sink if the sink does not exist, keeps no state, waits for its backfill, or is being filled. The
// opened sinks write to the stores only in Repair. The caller closes stores.
func Open(ctx context.Context, cfg *config.Config, stores sinks.Stores, o Options) ([]Sink, error) {
	specs, err := SelectSinks(cfg, o.Sinks)
	if err != nil {
		return nil, err
	}
	stateStore, err := stores.State(ctx, cfg)
	if err != nil {
		return nil, err
	}
	hasState := stateStore != nil // without a state there are no records of outputs
	var births map[string]string
	if hasState {
		if births, err = sinks.Births(ctx, cfg, stateStore); err != nil {
			return nil, fmt.Errorf("births: %w", err)
		}
	}
	m, err := sinks.Mask(cfg)
	if err != nil {
		return nil, err
	}
	held := &heldKeys{cfg: cfg, stores: stores, flags: o.CommandFlags}
	opened := make([]Sink, len(specs))
	for i, spec := range specs {
		birth := births[spec.Name]
		b := base{
			cfg: cfg, spec: spec, birth: birth, neverStarted: hasState && birth == "",
			mask: m, heldKeys: held, dryRun: o.DryRun,
			repairQueue:      new(rowqueue.Queue[state.Row]),
			groupConcurrency: cmp.Or(o.GroupConcurrency, defaultGroupConcurrency),
			filters:          sinks.OnlyFilters(o.Extensions...),
		}
		if opened[i], err = openSink(ctx, b, stores); err != nil {
			return nil, fmt.Errorf("%s:%d: sinks.%s: %w", cfg.File, spec.Line, spec.Name, err)
		}
	}
	if hasState && !o.AllowUnfilled {
		if err := checkOutputs(ctx, cfg, stores, specs); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// checkOutputs returns an error if a sink is not filled, has never started, or was written with other settings. The
// contents of such a sink do not match the plans of this file.
func checkOutputs(ctx context.Context, cfg *config.Config, stores sinks.Stores, specs []config.Sink) error {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	changes, err := sinks.CompareOutputs(ctx, cfg, stores, names...)
	if err != nil {
		return err
	}
	for _, c := range changes {
		name := redact.Safe(c.Sink)
		switch stage := c.Birth.Stage; {
		case stage == state.Waiting || stage == state.Filling:
			return errs.Errorf("the sink %s is %s: %s", name, redact.Safe(stage), redact.Safe(stage.FillHint(c.Sink)))
		case c.Kind == sinks.Added:
			return errs.Errorf("the sink %s has never started: there is nothing to compare; tablewake plan says what it needs",
				name)
		case c.Problem != "":
			return errs.Errorf("the sink %s would not start: %s", name, redact.Safe(c.Problem))
		case c.Kind == sinks.Changed:
			return errs.Errorf(
				"the sink %s was written under other settings than those of the file: tablewake plan says which, and what to do",
				name)
		}
	}
	return nil
}

// openSink opens one sink. newPlanner rejects a configuration whose writes would differ between two runs, for example
// one with {@time} in a key.
func openSink(ctx context.Context, b base, stores sinks.Stores) (_ Sink, err error) {
	if b.planner, err = newPlanner(ctx, b.cfg, b.spec, b.birth, b.filters); err != nil {
		return nil, err
	}
	switch {
	case b.spec.View != nil:
		store, err := stores.View(ctx, b.cfg, b.spec)
		if err != nil {
			return nil, err
		}
		if b.spec.View.ForEach != nil {
			return newItemRowsSink(b, store)
		}
		return newRowSink(b, store), nil
	case b.spec.Aggregate != nil:
		store, err := stores.Aggregate(ctx, b.cfg, b.spec)
		if err != nil {
			return nil, err
		}
		return newGroupSink(b, store)
	default:
		store, err := stores.Search(ctx, b.cfg, b.spec)
		if err != nil {
			return nil, err
		}
		return newDocumentSink(ctx, b, store)
	}
}

// SelectSinks returns the named sinks, in the order of the file. If names is empty, it returns all sinks that keep
// state. An unknown or stateless sink in names is an error.
func SelectSinks(cfg *config.Config, names []string) ([]config.Sink, error) {
	var specs []config.Sink
	for _, s := range cfg.Sinks {
		isNamed := slices.Contains(names, s.Name)
		if isNamed && !s.KeepsState() {
			return nil, errs.Errorf(
				"the sink %s keeps no state that an item could be compared with: name views, aggregates and search sinks",
				redact.Safe(s.Name))
		}
		if s.KeepsState() && (isNamed || len(names) == 0) {
			specs = append(specs, s)
		}
	}
	for _, name := range names {
		if _, known := cfg.Sink(name); !known {
			return nil, unknownSinkError(cfg, name)
		}
	}
	if len(specs) == 0 {
		return nil, errs.New("the file has no view, aggregate or search sink to compare")
	}
	return specs, nil
}

// unknownSinkError returns the error of a name that no sink of the file has.
func unknownSinkError(cfg *config.Config, name string) error {
	var existing []string
	for _, s := range cfg.Sinks {
		existing = append(existing, s.Name)
	}
	return errs.Errorf("no sink is named %q: the file has %s", name, redact.Safe(strings.Join(existing, ", ")))
}
