package sinks

import (
	"context"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// HoldCustom holds back the Go sinks, except those in names. For a Go sink that is held back, Assemble calls neither
// the function of [With] that makes it nor the function of [On]. Each change for that sink counts as suppressed, with
// the reason. [CustomSinks] returns the names of the sinks that can be held back.
//
// A program without extensions can hold back sinks whose code it does not have. With [SuppressEvents] the program can
// also lack the Go functions of detectors. A detector without its function raises no events. [Missing] names the code
// that is lacking.
func HoldCustom(reason string, names ...string) Option {
	return optionFunc(func(a *assembly) { a.holdReason, a.notHeld = reason, names })
}

// CustomSinks returns the names of the sinks that are Go code: the Go sinks of the file, and the sinks of [On].
func CustomSinks(cfg *config.Config, exts ...Extension) []string {
	var names []string
	for _, s := range AllSinks(cfg, exts...) {
		if isGoSink(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// AllSinks returns the sinks of the file, and a Go sink for each function of [On].
func AllSinks(cfg *config.Config, exts ...Extension) []config.Sink {
	all := slices.Clip(cfg.Sinks)
	for _, t := range codeOf(exts).typed {
		all = append(all, config.Sink{Name: t.name(), Custom: &config.Custom{Name: t.name()}})
	}
	return all
}

// OnEntities returns the names of the entities whose changes [On] and [OnBatch] pass to functions. The file does not
// name these functions.
func OnEntities(exts ...Extension) []string {
	var names []string
	for _, t := range codeOf(exts).typed {
		names = append(names, t.entity)
	}
	return names
}

// Missing describes the Go code that cfg names and that the extensions lack. Each description is like "the Go sink
// crm".
func Missing(cfg *config.Config, exts ...Extension) []string {
	code := codeOf(exts)
	code.cfg = cfg
	var all []string
	for _, s := range cfg.Sinks {
		if isGoSink(s) && code.custom[s.Custom.Name].make == nil {
			all = append(all, "the Go sink "+s.Custom.Name)
		}
	}
	for _, d := range cfg.Detectors {
		if d.Func != "" && code.funcs[d.Func] == nil {
			all = append(all, "the Go function "+d.Func)
		}
	}
	for _, f := range code.goFiltersToRun() {
		if _, has := code.goFilters[f.Func]; !has {
			all = append(all, "the Go filter "+f.Func)
		}
	}
	var missing []string // all without duplicates
	for _, text := range all {
		if !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	return missing
}

// isGoSink reports whether the sink is Go code of the program.
func isGoSink(s config.Sink) bool { return s.Custom != nil && s.Custom.Name != Discard }

// isHeld reports whether [HoldCustom] holds the sink back.
func (a *assembly) isHeld(name string) bool {
	return a.holdReason != "" && !slices.Contains(a.notHeld, name)
}

// checkNotHeld returns an error if one of the names in [HoldCustom] is not the name of a Go sink.
func (a *assembly) checkNotHeld() error {
	for _, name := range a.notHeld {
		isInFile := slices.ContainsFunc(a.cfg.Sinks, func(s config.Sink) bool { return isGoSink(s) && s.Name == name })
		isTyped := slices.ContainsFunc(a.typed, func(t typedSpec) bool { return t.name() == name })
		if !isInFile && !isTyped {
			return errs.Errorf("%s: no Go sink is named %q: name a sink that is custom, or on_ENTITY", redact.Safe(a.cfg.File),
				name)
		}
	}
	return nil
}

// heldSink replaces a Go sink that [HoldCustom] holds back. Its route suppresses its deliveries. Its text names the Go
// code that would get a change. A heldSink is also the op of each of its changes.
type heldSink string

var (
	_ pipeline.Planner = heldSink("")
	_ pipeline.Sink    = heldSink("")
)

// Plan adds an op that names the Go sink. The change is not delivered to it.
func (s heldSink) Plan(d *pipeline.Delivery) error {
	d.Ops = append(d.Ops[:0], s)
	return nil
}

// Write returns an error. It is never called, because the route suppresses its deliveries.
func (heldSink) Write(context.Context, []pipeline.Delivery) error { return errPlanOnly }

// String returns a text that names the Go code that would get the change.
func (s heldSink) String() string { return string(s) }

// holdSink replaces the sink of a route by a heldSink with the text op.
func (a *assembly) holdSink(r *pipeline.Route, op string) {
	r.Sink, r.Suppress = heldSink(op), a.holdReason
}

// mayLackCode reports whether the program may lack Go code that its file names. It may if it has no extensions and
// holds sinks back.
func (a *assembly) mayLackCode() bool { return !a.extended && a.holdReason != "" }

// codeOf returns an assembly that has only the code of the extensions.
func codeOf(exts []Extension) *assembly {
	a := newAssembly()
	for _, e := range exts {
		e.apply(a)
	}
	return a
}
